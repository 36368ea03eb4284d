import { createArrowKeyListener, h } from '../dom.ts';

/** An entry of a legend, for a series or a part of a whole. */
export interface LegendEntry {
  label: string;
  colour: string;
  shape: string;
  /** The value of a part (of a pie, for example), and its share of the whole; absent for a series. */
  value?: string;
  share?: string;
}

/** Builds the legend of a chart. Pressing an entry toggles its series or part; all entries together are one Tab stop. */
export function buildLegend(
  entries: readonly LegendEntry[],
  hiddenLabels: ReadonlySet<string>,
  toggleEntry: (index: number, label: string) => boolean,
): HTMLElement {
  const element = h('ul', { class: 'legend', onkeydown: createArrowKeyListener('ul', 'button') });
  element.append(
    ...entries.map(({ label, colour, shape, value, share }, at) => {
      const colourMark = h('span', { class: 'mark-of', 'data-shape': shape });
      colourMark.style.setProperty('background', colour);
      const button = h(
        'button',
        {
          type: 'button',
          'aria-pressed': String(!hiddenLabels.has(label)),
          tabindex: at === 0 ? 0 : -1,
          onclick: () => button.setAttribute('aria-pressed', String(toggleEntry(at, label))),
        },
        colourMark,
        h('span', {}, label),
        value !== undefined && h('span', { class: 'value' }, value),
        share !== undefined && h('span', { class: 'share' }, share),
      );
      return h('li', {}, button);
    }),
  );
  return element;
}
