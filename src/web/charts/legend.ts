import { arrowKeys, h } from '../dom.ts';

/** An entry of a legend, for a series or a part of a whole. */
export interface Entry {
  label: string;
  colour: string;
  shape: string;
  /** For a part: its value, and its share of the whole. */
  value?: string;
  share?: string;
}

/** The legend of a chart. Pressing an entry toggles its series or part; all together are one stop of Tab. */
export function buildLegend(entries: readonly Entry[], toggle: (index: number) => boolean): HTMLElement {
  const element = h('ul', { class: 'legend', onkeydown: arrowKeys('ul', 'button') });
  element.append(
    ...entries.map(({ label, colour, shape, value, share }, at) => {
      const mark = h('span', { class: 'mark-of', 'data-shape': shape });
      mark.style.setProperty('background', colour);
      const button = h(
        'button',
        {
          type: 'button',
          'aria-pressed': 'true',
          tabindex: at === 0 ? 0 : -1,
          onclick: () => button.setAttribute('aria-pressed', String(toggle(at))),
        },
        mark,
        h('span', {}, label),
        value !== undefined && h('span', { class: 'value' }, value),
        share !== undefined && h('span', { class: 'share' }, share),
      );
      return h('li', {}, button);
    }),
  );
  return element;
}
