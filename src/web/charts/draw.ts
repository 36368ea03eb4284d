import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartConfiguration,
  type ChartOptions,
  Filler,
  Legend,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  PointElement,
  ScatterController,
  Tooltip,
} from 'chart.js';
import type { ViewCell, ViewChart } from '../../presentation/viewing.ts';
import { listed, TEXTS } from '../texts.ts';
import { cartesian, orderOf } from './cartesian.ts';
import { axis, common, titleOf } from './common.ts';
import { columnTextsOf, labelText, numberText } from './format.ts';
import { faded, palette, pointShape, seriesColour } from './palette.ts';
import { type Clouds, cloudsOf, type Data, MAX_SERIES, type Plot, type Point, plotOf, slicesOf } from './plot.ts';
import { type PointAt, type PointButton, pointButton } from './point-button.ts';

Chart.register(
  ...[ArcElement, BarController, BarElement, CategoryScale, Filler, Legend, LinearScale, LineController, LineElement],
  ...[PieController, PointElement, ScatterController, Tooltip],
);

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

type ChartTerms = ViewChart['chart'];

/** A drawn chart. */
export interface Drawing {
  /** The description for screen readers. */
  summary: string;
  /** Names what was left out; empty if nothing was. */
  note: string;
  /** The keyboard's way to the points, where they may be chosen: it belongs beside the canvas. */
  points: HTMLElement | undefined;
  end(): void;
  /** What the canvas shows, as a PNG on the colour of the card. */
  picture(): Promise<Blob>;
}

/**
 * Draws a chart on a canvas; returns undefined if the result does not fit the chart.
 * @param choose called with a point that is pressed
 */
export function draw(
  canvas: HTMLCanvasElement,
  data: Data,
  chart: ChartTerms,
  choose?: (point: Point) => void,
): Drawing | undefined {
  const made = configurationOf(data, chart);
  if (!made) return undefined;
  let button: PointButton | undefined;
  const follow = { id: 'point-button', afterRender: () => button?.place() };
  const drawn = new Chart(canvas, { ...made.configuration, plugins: [follow] });
  if (choose) {
    canvas.addEventListener('click', (event) => tellPoint(drawn, event, made.pointAt, choose));
    button = pointButton(drawn, made.pointAt, wordsIn(data, chart), choose);
  }
  const series = made.configuration.data.datasets.length;
  const note = series < made.series ? TEXTS.seriesCut(series, made.series) : '';
  return {
    summary: made.summary,
    note,
    points: button?.element,
    end: () => drawn.destroy(),
    picture: () => pictureOf(canvas),
  };
}

/** A point in words: its values by column, as a table writes them. */
function wordsIn(data: Data, chart: ChartTerms): (point: Point) => string {
  const formats = columnTextsOf(data, chart);
  const texts = new Map(data.columns.map(({ name }, at) => [name, formats[at]]));
  const wordsOf = ([name, cell]: [string, ViewCell]) => `${name}: ${labelText(texts.get(name) ?? String, cell)}`;
  return (point) => listed(Object.entries(point).map(wordsOf));
}

/** How far from a point one may press. CSS pixels. */
const REACH = 24;

function tellPoint(chart: Chart, event: MouseEvent, pointAt: PointAt, choose: (point: Point) => void): void {
  const find = (intersect: boolean) => chart.getElementsAtEventForMode(event, 'nearest', { intersect }, true);
  const near = ({ element: { x, y } }: { element: { x: number; y: number } }) =>
    Math.hypot(x - event.offsetX, y - event.offsetY) <= REACH;
  const [pressed] = [...find(true), ...find(false).filter(near)];
  const point = pressed && pointAt(pressed.datasetIndex, pressed.index);
  if (point) choose(point);
}

function pictureOf(canvas: HTMLCanvasElement): Promise<Blob> {
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const to = copy.getContext('2d') as CanvasRenderingContext2D;
  to.fillStyle = palette().card;
  to.fillRect(0, 0, copy.width, copy.height);
  to.drawImage(canvas, 0, 0);
  return new Promise((resolve, reject) =>
    copy.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the canvas has no picture'))), 'image/png'),
  );
}

interface Made {
  configuration: ChartConfiguration;
  summary: string;
  series: number;
  pointAt: PointAt;
}

function configurationOf(data: Data, chart: ChartTerms): Made | undefined {
  if (chart.type === 'scatter') {
    const clouds = cloudsOf(data, chart);
    const points = clouds?.clouds.reduce((sum, { points: { length } }) => sum + length, 0);
    return (
      clouds && {
        configuration: scatter(clouds, chart),
        summary: TEXTS.scatterSummary(points ?? 0, clouds.yLabel, clouds.xLabel),
        series: clouds.clouds.length,
        pointAt: (cloud, index) => clouds.clouds[cloud]?.points[index]?.of,
      }
    );
  }
  const plot = plotOf(data, chart);
  if (!plot) return undefined;
  const names = plot.series.slice(0, 3).map(({ label }) => label);
  const summary = TEXTS.plotSummary(listed(names), plot.series.length > 3, plot.xLabel, plot.labels.length);
  if (chart.type === 'pie') {
    const slices = slicesOf(plot);
    return { configuration: pie(plot, slices), summary, series: 1, pointAt: (_pie, index) => slices[index]?.of };
  }
  const order = chart.type === 'bar' ? undefined : orderOf(plot);
  const pointAt: PointAt = (at, index) => {
    const [series, label] = [plot.series[at], order?.[index] ?? index];
    return typeof series?.values[label] === 'number' ? series.pointAt(label) : undefined;
  };
  return { configuration: cartesian(plot, chart), summary, series: plot.series.length, pointAt };
}

function scatter({ clouds, style, xLabel, yLabel }: Clouds, { options }: ChartTerms): ChartConfiguration {
  return {
    type: 'scatter',
    data: {
      datasets: clouds.slice(0, MAX_SERIES).map(({ label, points }, index) => ({
        label,
        data: points,
        backgroundColor: faded(seriesColour(index), 0.65),
        borderColor: seriesColour(index),
        pointStyle: pointShape(index),
        pointRadius: 4,
      })),
    },
    options: {
      ...common(style, clouds.length > 1),
      scales: { x: axis(titleOf(options.x_label) ?? xLabel), y: axis(titleOf(options.y_label) ?? yLabel, style) },
    } as ChartOptions,
  };
}

function pie(plot: Plot, slices: ReturnType<typeof slicesOf>): ChartConfiguration {
  const total = slices.reduce((sum, { value }) => sum + value, 0);
  return {
    type: 'pie',
    data: {
      labels: slices.map(({ label }) => label),
      datasets: [
        {
          data: slices.map(({ value }) => value),
          backgroundColor: slices.map((_slice, index) => seriesColour(index)),
          borderColor: palette().card,
          borderWidth: 2,
        },
      ],
    },
    options: {
      ...common(plot.style, true, 'right'),
      plugins: {
        ...common(plot.style, true, 'right').plugins,
        tooltip: {
          callbacks: {
            label: ({ label, parsed }: { label: string; parsed: number }) =>
              ` ${label}: ${numberText(parsed, plot.style)} (${numberText(parsed / total, { format: 'percent', decimals: 1 })})`,
          },
        },
      },
    } as ChartOptions,
  };
}
