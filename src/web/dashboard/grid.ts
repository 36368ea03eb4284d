import type { ViewPlace } from '../../kernel/viewing.ts';
import { h } from '../dom.ts';

/** Columns of a dashboard, unless something stands further to the right. */
const COLUMNS = 12;

/**
 * Cards on a grid. On a narrow page they stand below each other, in the order in which one reads the wide one; what has
 * no place comes last, over the whole width.
 */
export function gridOf(layout: readonly ViewPlace[], cards: ReadonlyMap<string, HTMLElement>): HTMLElement {
  const places = layout
    .filter(({ visualization_id }) => cards.has(visualization_id))
    .toSorted((a, b) => a.y - b.y || a.x - b.x);
  const placed = new Set(places.map(({ visualization_id }) => visualization_id));
  const columns = Math.max(COLUMNS, ...places.map(({ x, w }) => x + w));
  const grid = h('div', { class: 'grid' });
  grid.style.setProperty('--columns', String(columns));
  for (const { visualization_id, x, y, w, h: height } of places) {
    const card = cards.get(visualization_id) as HTMLElement;
    card.style.setProperty('--column', `${x + 1} / span ${w}`);
    card.style.setProperty('--row', `${y + 1} / span ${height}`);
    grid.append(card);
  }
  for (const [id, card] of cards) if (!placed.has(id)) grid.append(card);
  return grid;
}
