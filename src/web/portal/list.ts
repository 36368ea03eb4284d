import { formatFailure } from '../api.ts';
import { h } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { formatAddress } from './address.ts';
import type { Session } from './session.ts';
import { type ListedDashboard, type ListPage, listContexts, listDashboards } from './source.ts';

/**
 * Builds the list of the dashboards that are shared with a viewer, loaded in pages. If the viewer has several contexts, each
 * entry names its context: the same dashboard may show different rows in another context. @throws ApiProblem
 */
export async function buildListPage(session: Session, companySlug: string): Promise<HTMLElement> {
  const [first, contexts] = await Promise.all([
    listDashboards(session, companySlug, 1),
    listContexts(session, companySlug),
  ]);
  const names = new Map(contexts.total > 1 ? contexts.records.map(({ id, name }) => [id, name]) : []);
  let loadedPageCount = 0;
  let isLoading = false;
  const loadedDashboards: ListedDashboard[] = [];
  const list = h('ul', { class: 'dashboards' });
  const errorElement = h('p', { class: 'error', role: 'alert' });
  const moreButton = h('button', { type: 'button', class: 'quiet', onclick: () => void loadNextPage() }, TEXTS.more);

  function appendPage({ total, records }: ListPage<ListedDashboard>): void {
    loadedPageCount += 1;
    loadedDashboards.push(...records);
    const sortedDashboards = loadedDashboards.toSorted((a, b) => COLLATOR.compare(a.name, b.name));
    list.replaceChildren(...sortedDashboards.map((record) => buildItem(record, names.get(record.context_id))));
    moreButton.hidden = records.length === 0 || loadedDashboards.length >= total;
  }

  async function loadNextPage(): Promise<void> {
    // Not disabled meanwhile, so that the button keeps the focus.
    if (isLoading) return;
    isLoading = true;
    errorElement.textContent = '';
    try {
      appendPage(await listDashboards(session, companySlug, loadedPageCount + 1));
    } catch (error) {
      errorElement.textContent = formatFailure(error);
    } finally {
      isLoading = false;
    }
  }

  appendPage(first);
  return h(
    'main',
    { class: 'item' },
    h('header', { class: 'title' }, h('h1', {}, TEXTS.sharedDashboards)),
    loadedDashboards.length === 0
      ? h('div', { class: 'empty' }, h('p', {}, TEXTS.noDashboards), h('p', {}, TEXTS.noDashboardsHint))
      : list,
    errorElement,
    moreButton,
  );
}

const COLLATOR = new Intl.Collator(LOCALE, { numeric: true });

const buildItem = ({ id, name, description, context_id }: ListedDashboard, context: string | undefined): HTMLElement =>
  h(
    'li',
    {},
    h(
      'a',
      { href: formatAddress({ id, contextId: context_id, query: new URLSearchParams() }) },
      context !== undefined && h('span', { class: 'context' }, context),
      h('strong', {}, name),
      description !== '' && h('span', {}, description),
    ),
  );
