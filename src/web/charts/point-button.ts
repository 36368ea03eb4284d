import type { Chart } from 'chart.js';
import { h } from '../dom.ts';
import type { DataPoint } from './plot.ts';

/** A function that returns the data point of a chart's element; undefined where the element has none. */
export type GetPoint = (dataset: number, index: number) => DataPoint | undefined;

interface PointPlace {
  datasetIndex: number;
  index: number;
}

/** The steps of each arrow key along a series, and across the series. */
const KEY_STEPS: Record<string, readonly [along: number, across: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The keyboard access to the points of a chart that a mouse or finger can press. */
export interface PointButton {
  element: HTMLElement;
  /** Moves the button to where its point is currently drawn. */
  moveToPoint(): void;
}

/**
 * Creates a button at one point of a chart at a time. Arrow keys move it from point to point, Home and End to the ends of a
 * series. Each point gets a new button element, so that screen readers announce it on focus.
 */
export function createPointButton(
  chart: Chart,
  getPoint: GetPoint,
  describePoint: (point: DataPoint) => string,
  onChoose: (point: DataPoint) => void,
): PointButton {
  const { datasets } = chart.data;
  const countPoints = (dataset: number): number => datasets[dataset]?.data.length ?? 0;
  const element = h('div', {
    class: 'points',
    role: 'group',
    onkeydown: handleKey,
    onfocusin: highlightFocus,
    onfocusout: highlightFocus,
  });
  let currentPlace: PointPlace | undefined;
  for (let at = 0; at < datasets.length && !currentPlace; at += 1) currentPlace = findPlaceInSeries(at, 0, 1);
  renderButton();

  function findPlaceInSeries(datasetIndex: number, from: number, step: number): PointPlace | undefined {
    if (!chart.isDatasetVisible(datasetIndex)) return undefined;
    for (let index = from; index >= 0 && index < countPoints(datasetIndex); index += step) {
      if (chart.getDataVisibility(index) && getPoint(datasetIndex, index)) return { datasetIndex, index };
    }
    return undefined;
  }

  /** Finds a point in the next visible series that has points: the one at the same index, else the nearest at a lower index. */
  function findPlaceInNextSeries({ datasetIndex, index }: PointPlace, step: number): PointPlace | undefined {
    for (let at = datasetIndex + step; at >= 0 && at < datasets.length; at += step) {
      const foundPlace = findPlaceInSeries(at, Math.min(index, countPoints(at) - 1), -1);
      if (foundPlace) return foundPlace;
    }
    return undefined;
  }

  function findNextPlace(key: string, { datasetIndex, index }: PointPlace): PointPlace | undefined {
    if (key === 'Home') return findPlaceInSeries(datasetIndex, 0, 1);
    if (key === 'End') return findPlaceInSeries(datasetIndex, countPoints(datasetIndex) - 1, -1);
    const [on, over] = KEY_STEPS[key] ?? [0, 0];
    // One series has nothing above it and below.
    const step = datasets.length === 1 ? on + over : on;
    if (step !== 0) return findPlaceInSeries(datasetIndex, index + step, step);
    return over === 0 ? undefined : findPlaceInNextSeries({ datasetIndex, index }, over);
  }

  function handleKey(event: KeyboardEvent): void {
    if (!currentPlace || event.ctrlKey || event.altKey || event.metaKey) return;
    if (!(event.key in KEY_STEPS || event.key === 'Home' || event.key === 'End')) return;
    // The page does not scroll.
    event.preventDefault();
    const to = findNextPlace(event.key, currentPlace);
    if (!to) return;
    currentPlace = to;
    renderButton();
    element.querySelector('button')?.focus();
  }

  function renderButton(): void {
    const point = currentPlace && getPoint(currentPlace.datasetIndex, currentPlace.index);
    element.replaceChildren(
      ...(point
        ? [h('button', { type: 'button', 'aria-label': describePoint(point), onclick: () => onChoose(point) })]
        : []),
    );
    moveToPoint();
  }

  function moveToPoint(): void {
    const button = element.querySelector('button');
    if (!button || !currentPlace) return;
    const { x, y } =
      chart.getDatasetMeta(currentPlace.datasetIndex).data[currentPlace.index]?.tooltipPosition(true) ?? {};
    button.style.left = `${x}px`;
    button.style.top = `${y}px`;
  }

  /** Highlights the focused point like a point under the mouse. */
  function highlightFocus({ type }: FocusEvent): void {
    const activeElements = currentPlace && type === 'focusin' ? [currentPlace] : [];
    chart.setActiveElements(activeElements);
    chart.tooltip?.setActiveElements(activeElements, { x: 0, y: 0 });
    chart.render();
  }

  return { element, moveToPoint };
}
