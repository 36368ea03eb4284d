import {
  ArcElement,
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  type ChartConfiguration,
  type ChartOptions,
  Filler,
  LinearScale,
  LineController,
  LineElement,
  PieController,
  type Plugin,
  PointElement,
  ScatterController,
  Tooltip,
} from 'chart.js';
import { chooseTextColour } from '../../kernel/colours.ts';
import type { ViewCell, ViewChart } from '../../presentation/viewing.ts';
import { formatList, TEXTS } from '../texts.ts';
import { cartesian, sortByTime } from './cartesian.ts';
import { axis, getTitle, makeCommonOptions } from './common.ts';
import { columnTextsOf, labelText, type NumberStyle, numberText } from './format.ts';
import { buildLegend, type Entry } from './legend.ts';
import { palette, pointShape, seriesColour, withOpacity } from './palette.ts';
import {
  type Clouds,
  type Data,
  MAX_SERIES,
  makeClouds,
  makePlot,
  makeSlices,
  type Plot,
  type Point,
  type Slice,
  sumValues,
} from './plot.ts';
import { type PointAt, type PointButton, pointButton } from './point-button.ts';

Chart.register(
  ...[ArcElement, BarController, BarElement, CategoryScale, Filler, LinearScale, LineController, LineElement],
  ...[PieController, PointElement, ScatterController, Tooltip],
);

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

type ChartTerms = ViewChart['chart'];

/** A drawn chart. */
export interface Drawing {
  /** The description for screen readers. */
  summary: string;
  /** Names the series that were left out; empty for none. */
  note: string;
  /** The keyboard's way to the points, where they may be chosen: it stands beside the canvas. */
  points: HTMLElement | undefined;
  end(): void;
  /** Returns a PNG of the canvas with its legend, on the colour of the card. */
  picture(): Promise<Blob>;
}

/** Draws a chart on a canvas, with its legend beside the box; undefined if the result does not fit the chart. */
export function draw(
  canvas: HTMLCanvasElement,
  data: Data,
  chart: ChartTerms,
  choose?: (point: Point) => void,
): Drawing | undefined {
  const made = makeConfiguration(data, chart);
  if (!made) return undefined;
  let button: PointButton | undefined;
  const { entries } = made;
  if (entries.length > 0) {
    // It takes its room before the chart is drawn in what is left.
    const legend = buildLegend(entries, (at) => toggleEntry(drawn, at));
    canvas.parentElement?.[chart.type === 'pie' ? 'after' : 'before'](legend);
  }
  const follow = { id: 'point-button', afterRender: () => button?.place() };
  const drawn = new Chart(canvas, { ...made.configuration, plugins: [...(made.configuration.plugins ?? []), follow] });
  if (choose) {
    canvas.addEventListener('click', (event) => reportPoint(drawn, event, made.pointAt, choose));
    button = pointButton(drawn, made.pointAt, makePointDescriber(data, chart), choose);
    canvas.after(button.element);
  }
  const series = made.configuration.data.datasets.length;
  const cut = series < made.series ? TEXTS.seriesCut(series, made.series) : '';
  return {
    summary: made.summary,
    note: made.note ?? cut,
    points: button?.element,
    end: () => drawn.destroy(),
    picture: async () => (await import('./picture.ts')).takePicture(canvas, entries),
  };
}

/** A point in words: its values by column, as a table writes them. */
function makePointDescriber(data: Data, chart: ChartTerms): (point: Point) => string {
  const formats = columnTextsOf(data, chart);
  const texts = new Map(data.columns.map(({ name }, at) => [name, formats[at]]));
  const formatPair = ([name, cell]: [string, ViewCell]) => `${name}: ${labelText(texts.get(name) ?? String, cell)}`;
  return (point) => formatList(Object.entries(point).map(formatPair));
}

/** The greatest distance from a point at which pressing chooses it. CSS pixels. */
const MAX_POINT_DISTANCE = 24;

function reportPoint(chart: Chart, event: MouseEvent, pointAt: PointAt, choose: (point: Point) => void): void {
  const find = (intersect: boolean) => chart.getElementsAtEventForMode(event, 'nearest', { intersect }, true);
  const near = ({ element: { x, y } }: { element: { x: number; y: number } }) =>
    Math.hypot(x - event.offsetX, y - event.offsetY) <= MAX_POINT_DISTANCE;
  const [pressed] = [...find(true), ...find(false).filter(near)];
  const point = pressed && pointAt(pressed.datasetIndex, pressed.index);
  if (point) choose(point);
}

/** Leaves out a series or a part of a whole, or draws it again. */
function toggleEntry(chart: Chart, at: number): boolean {
  const isPie = 'type' in chart.config && chart.config.type === 'pie';
  const isDrawn = isPie ? !chart.getDataVisibility(at) : !chart.isDatasetVisible(at);
  if (isPie) chart.toggleDataVisibility(at);
  else chart.setDatasetVisibility(at, isDrawn);
  chart.update();
  return isDrawn;
}

interface PreparedChart {
  configuration: ChartConfiguration;
  summary: string;
  series: number;
  pointAt: PointAt;
  /** The entries of its legend; none where there is one series. */
  entries: Entry[];
  note?: string;
}

function makeConfiguration(data: Data, chart: ChartTerms): PreparedChart | undefined {
  if (chart.type === 'scatter') {
    const clouds = makeClouds(data, chart);
    const points = clouds?.clouds.reduce((sum, { points: { length } }) => sum + length, 0);
    return (
      clouds && {
        configuration: scatter(clouds, chart),
        summary: TEXTS.scatterSummary(points ?? 0, clouds.yLabel, clouds.xLabel),
        series: clouds.clouds.length,
        pointAt: (cloud, index) => clouds.clouds[cloud]?.points[index]?.of,
        entries: toEntries(clouds.clouds),
      }
    );
  }
  const plot = makePlot(data, chart);
  if (!plot) return undefined;
  const names = plot.series.slice(0, 3).map(({ label }) => label);
  const summary = TEXTS.plotSummary(formatList(names), plot.series.length > 3, plot.xLabel, plot.labels.length);
  if (chart.type === 'pie') {
    const slices = makeSlices(plot);
    return {
      configuration: pie(plot, slices),
      summary,
      series: 1,
      pointAt: (_pie, index) => slices[index]?.of,
      ...toParts(slices, plot.style),
    };
  }
  const order = chart.type === 'bar' ? undefined : sortByTime(plot);
  const pointAt: PointAt = (at, index) => {
    const [series, label] = [plot.series[at], order?.[index] ?? index];
    return typeof series?.values[label] === 'number' ? series.pointAt(label) : undefined;
  };
  const entries = toEntries(plot.series, chart.type === 'bar' ? 'rect' : undefined);
  return { configuration: cartesian(plot, chart), summary, series: plot.series.length, pointAt, entries };
}

/** The legend of several series. */
const toEntries = (series: readonly { label: string }[], shape?: string): Entry[] =>
  series.length < 2
    ? []
    : series
        .slice(0, MAX_SERIES)
        .map(({ label }, at) => ({ label, colour: seriesColour(at), shape: shape ?? pointShape(at) }));

/** The legend of the parts of a whole, and the content of the last one. */
function toParts(slices: readonly Slice[], style: NumberStyle): { entries: Entry[]; note: string } {
  const formatShare = shareIn(slices);
  const held = slices.at(-1)?.parts ?? [];
  const names = held.slice(0, MAX_NAMED_PARTS).map((slice) => `${slice.label} ${formatShare(slice)}`);
  const more = held.length > MAX_NAMED_PARTS ? ['…'] : [];
  return {
    entries: slices.map((slice, at) => ({
      label: slice.label,
      colour: seriesColour(at),
      shape: 'circle',
      value: numberText(slice.value, style),
      share: formatShare(slice),
    })),
    note: held.length > 0 ? TEXTS.otherHolds([...names, ...more].join(', ')) : '',
  };
}

/** The maximum number of parts that a note names. */
const MAX_NAMED_PARTS = 12;

const shareIn = (slices: readonly Slice[]): ((slice: Slice, decimals?: number) => string) => {
  const total = sumValues(slices);
  return ({ value }, decimals = 1) => numberText(value / total, { format: 'percent', decimals });
};

function scatter({ clouds, style, xLabel, yLabel }: Clouds, { options }: ChartTerms): ChartConfiguration {
  return {
    type: 'scatter',
    data: {
      datasets: clouds.slice(0, MAX_SERIES).map(({ label, points }, index) => ({
        label,
        data: points,
        backgroundColor: withOpacity(seriesColour(index), 0.65),
        borderColor: seriesColour(index),
        pointStyle: pointShape(index),
        pointRadius: 4,
      })),
    },
    options: {
      ...makeCommonOptions(style),
      scales: { x: axis(getTitle(options.x_label) ?? xLabel), y: axis(getTitle(options.y_label) ?? yLabel, style) },
    } as ChartOptions,
  };
}

/** A slice of less than this has no room for its share. */
const MIN_LABELLED_SHARE = 0.06;

function pie(plot: Plot, slices: readonly Slice[]): ChartConfiguration {
  const formatShare = shareIn(slices);
  return {
    type: 'pie',
    plugins: [makeShareLabels(slices)],
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
      ...makeCommonOptions(plot.style),
      layout: { padding: 4 },
      plugins: {
        tooltip: {
          callbacks: {
            label: ({ dataIndex }: { dataIndex: number }) => {
              const slice = slices[dataIndex] as Slice;
              return ` ${slice.label}: ${numberText(slice.value, plot.style)} (${formatShare(slice)})`;
            },
          },
        },
      },
    } as ChartOptions,
  };
}

/** Writes the share of each slice on it, where it has the room. */
const makeShareLabels = (slices: readonly Slice[]): Plugin => ({
  id: 'shares',
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    const drawn = slices.filter((_slice, at) => chart.getDataVisibility(at));
    const formatShare = shareIn(drawn);
    const total = sumValues(drawn);
    ctx.save();
    ctx.font = `600 12px ${Chart.defaults.font.family}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach((arc, at) => {
      const slice = slices[at] as Slice;
      const { startAngle, endAngle, outerRadius, x, y } = arc as ArcElement;
      if (!drawn.includes(slice) || slice.value / total < MIN_LABELLED_SHARE || outerRadius < 45) return;
      const angle = (startAngle + endAngle) / 2;
      // A whole has its share in the middle.
      const distance = drawn.length === 1 ? 0 : outerRadius * 0.68;
      ctx.fillStyle = chooseTextColour(seriesColour(at));
      ctx.fillText(formatShare(slice, 0), x + Math.cos(angle) * distance, y + Math.sin(angle) * distance);
    });
    ctx.restore();
  },
});
