import type { ViewChart, ViewPlace } from '../../presentation/viewing.ts';
import { h } from '../dom.ts';
import { arrange } from './arrange.ts';
import { type CardOptions, type Widget, widgetOf } from './widget.ts';

export interface Grid {
  element: HTMLElement;
  /** Every card with its visualization. A visualization may stand in several places. */
  cards: { visualizationId: string; widget: Widget }[];
}

/**
 * Puts cards on a grid. On a narrow page they stand below each other, in the reading order of the wide page.
 * Visualizations without a place come last, over the whole width.
 * @param bare leaves out the names of cards, if the page names them already
 */
export function gridOf(
  layout: readonly ViewPlace[],
  charts: readonly ViewChart[],
  bare: boolean,
  options: CardOptions = {},
): Grid {
  const byId = new Map(charts.map((chart) => [chart.visualization_id, chart]));
  const { columns, places } = arrange(layout.filter(({ visualization_id: id }) => byId.has(id)));
  const placed = new Set(places.map(({ visualization_id: id }) => id));
  const element = h('div', { class: 'grid' });
  element.style.setProperty('--columns', String(columns));
  const cards: Grid['cards'] = [];
  function add(visualizationId: string): Widget {
    const widget = widgetOf(byId.get(visualizationId) as ViewChart, bare, options);
    cards.push({ visualizationId, widget });
    element.append(widget.element);
    return widget;
  }
  for (const { visualization_id, x, y, w, h: height } of places) {
    const { style } = add(visualization_id).element;
    style.setProperty('--column', `${x + 1} / span ${w}`);
    style.setProperty('--row', `${y + 1} / span ${height}`);
  }
  for (const id of byId.keys()) if (!placed.has(id)) add(id);
  return { element, cards };
}
