import type { Chart } from 'chart.js';
import { h } from '../dom.ts';
import type { Point } from './plot.ts';

/** The point of the data that an element of a chart stands for; undefined where it stands for none. */
export type PointAt = (dataset: number, index: number) => Point | undefined;

interface Place {
  datasetIndex: number;
  index: number;
}

/** The steps of a key along a series, and across the series. */
const STEPS: Record<string, readonly [along: number, across: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Keyboard access to the points of a chart that a mouse or finger can press. */
export interface PointButton {
  element: HTMLElement;
  /** Moves the button to where its point is currently drawn. */
  place(): void;
}

/**
 * A button at one point of a chart at a time. Arrow keys move it from point to point, Home and End to the ends of a series. Each point
 * has a new one: screen readers say what the focus comes to.
 */
export function pointButton(
  chart: Chart,
  pointAt: PointAt,
  wordsOf: (point: Point) => string,
  choose: (point: Point) => void,
): PointButton {
  const { datasets } = chart.data;
  const countPoints = (dataset: number): number => datasets[dataset]?.data.length ?? 0;
  const element = h('div', { class: 'points', role: 'group', onkeydown: press, onfocusin: mark, onfocusout: mark });
  let standing: Place | undefined;
  for (let at = 0; at < datasets.length && !standing; at += 1) standing = along(at, 0, 1);
  stand();

  function along(datasetIndex: number, from: number, step: number): Place | undefined {
    if (!chart.isDatasetVisible(datasetIndex)) return undefined;
    for (let index = from; index >= 0 && index < countPoints(datasetIndex); index += step) {
      if (chart.getDataVisibility(index) && pointAt(datasetIndex, index)) return { datasetIndex, index };
    }
    return undefined;
  }

  /** The point at the same index in the next visible series that has points, or the nearest one before it. */
  function across({ datasetIndex, index }: Place, step: number): Place | undefined {
    for (let at = datasetIndex + step; at >= 0 && at < datasets.length; at += step) {
      const found = along(at, Math.min(index, countPoints(at) - 1), -1);
      if (found) return found;
    }
    return undefined;
  }

  function findStep(key: string, { datasetIndex, index }: Place): Place | undefined {
    if (key === 'Home') return along(datasetIndex, 0, 1);
    if (key === 'End') return along(datasetIndex, countPoints(datasetIndex) - 1, -1);
    const [on, over] = STEPS[key] ?? [0, 0];
    // One series has nothing above it and below.
    const step = datasets.length === 1 ? on + over : on;
    if (step !== 0) return along(datasetIndex, index + step, step);
    return over === 0 ? undefined : across({ datasetIndex, index }, over);
  }

  function press(event: KeyboardEvent): void {
    if (!standing || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!(event.key in STEPS || event.key === 'Home' || event.key === 'End')) return;
    // The page does not scroll.
    event.preventDefault();
    const to = findStep(event.key, standing);
    if (!to) return;
    standing = to;
    stand();
    element.querySelector('button')?.focus();
  }

  function stand(): void {
    const point = standing && pointAt(standing.datasetIndex, standing.index);
    element.replaceChildren(
      ...(point ? [h('button', { type: 'button', 'aria-label': wordsOf(point), onclick: () => choose(point) })] : []),
    );
    place();
  }

  function place(): void {
    const button = element.querySelector('button');
    if (!button || !standing) return;
    const { x, y } = chart.getDatasetMeta(standing.datasetIndex).data[standing.index]?.tooltipPosition(true) ?? {};
    button.style.left = `${x}px`;
    button.style.top = `${y}px`;
  }

  /** Shows the point that has the focus as one that a mouse is over. */
  function mark({ type }: FocusEvent): void {
    const active = standing && type === 'focusin' ? [standing] : [];
    chart.setActiveElements(active);
    chart.tooltip?.setActiveElements(active, { x: 0, y: 0 });
    chart.render();
  }

  return { element, place };
}
