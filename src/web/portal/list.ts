import { h } from '../dom.ts';
import { addressOf } from './address.ts';
import type { Session } from './session.ts';
import { type Listed, listDashboards } from './source.ts';

/** The dashboards that are shared with a viewer, a page of them at a time. @throws ApiProblem */
export async function listPage(session: Session, companySlug: string): Promise<HTMLElement> {
  let page = 1;
  let shown = 0;
  const list = h('ul', { class: 'dashboards' });
  const more = h('button', { type: 'button', class: 'quiet', onclick: () => void load(page + 1) }, 'Show more');

  async function load(next: number): Promise<void> {
    const { total, records } = await listDashboards(session, companySlug, next);
    page = next;
    shown += records.length;
    list.append(...records.map(itemOf));
    more.hidden = records.length === 0 || shown >= total;
  }

  await load(1);
  return h(
    'main',
    { class: 'subject' },
    h('header', { class: 'title' }, h('h1', {}, 'Shared dashboards')),
    shown === 0 ? h('p', { class: 'empty' }, 'No dashboards are shared with you at the moment.') : list,
    more,
  );
}

const itemOf = ({ id, name, description, context_id }: Listed): HTMLElement =>
  h(
    'li',
    {},
    h(
      'a',
      { href: addressOf({ id, contextId: context_id, query: new URLSearchParams() }) },
      h('strong', {}, name),
      description !== '' && h('span', {}, description),
    ),
  );
