import { ApiProblem } from '../api.ts';
import { h } from '../dom.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { formatAddress } from './address.ts';
import type { Session } from './session.ts';
import { type Listed, type ListPage, listContexts, listDashboards } from './source.ts';

/**
 * The list of the dashboards that are shared with a viewer, loaded in pages. If the viewer has several contexts, each
 * entry names its own: the same dashboard may show other rows in another context.
 * @throws ApiProblem
 */
export async function listPage(session: Session, companySlug: string): Promise<HTMLElement> {
  const [first, contexts] = await Promise.all([
    listDashboards(session, companySlug, 1),
    listContexts(session, companySlug),
  ]);
  const names = new Map(contexts.total > 1 ? contexts.records.map(({ id, name }) => [id, name]) : []);
  let pages = 0;
  const loaded: Listed[] = [];
  const list = h('ul', { class: 'dashboards' });
  const trouble = h('p', { class: 'error', role: 'alert' });
  const more = h('button', { type: 'button', class: 'quiet', onclick: () => void load() }, TEXTS.more);

  function append({ total, records }: ListPage<Listed>): void {
    pages += 1;
    loaded.push(...records);
    const sorted = loaded.toSorted((a, b) => COLLATOR.compare(a.name, b.name));
    list.replaceChildren(...sorted.map((record) => buildItem(record, names.get(record.context_id))));
    more.hidden = records.length === 0 || loaded.length >= total;
  }

  async function load(): Promise<void> {
    trouble.textContent = '';
    try {
      append(await listDashboards(session, companySlug, pages + 1));
    } catch (error) {
      trouble.textContent = error instanceof ApiProblem ? error.message : TEXTS.broken;
    }
  }

  append(first);
  return h(
    'main',
    { class: 'item' },
    h('header', { class: 'title' }, h('h1', {}, TEXTS.sharedDashboards)),
    loaded.length === 0
      ? h('div', { class: 'empty' }, h('p', {}, TEXTS.noDashboards), h('p', {}, TEXTS.noDashboardsHint))
      : list,
    trouble,
    more,
  );
}

const COLLATOR = new Intl.Collator(LOCALE, { numeric: true });

const buildItem = ({ id, name, description, context_id }: Listed, context: string | undefined): HTMLElement =>
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
