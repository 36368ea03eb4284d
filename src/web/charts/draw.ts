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
import { makeCartesian, sortByTime } from './cartesian.ts';
import { getTitle, makeAxis, makeCommonOptions } from './common.ts';
import { formatLabel, formatNumber, makeColumnFormats, type NumberStyle } from './format.ts';
import { buildLegend, type LegendEntry } from './legend.ts';
import { addOpacity, getPalette, getPointShape, getSeriesColour } from './palette.ts';
import {
  type DataPoint,
  MAX_SERIES,
  makePiePlot,
  makePlot,
  makeScatterPlot,
  makeSlices,
  type ResultData,
  type ScatterPlot,
  type Slice,
  sumValues,
} from './plot.ts';
import { createPointButton, type GetPoint, type PointButton } from './point-button.ts';

Chart.register(
  ...[ArcElement, BarController, BarElement, CategoryScale, Filler, LinearScale, LineController, LineElement],
  ...[PieController, PointElement, ScatterController, Tooltip],
);

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

type ChartDefinition = ViewChart['chart'];

/** A drawn chart. */
export interface Drawing {
  /** The description for screen readers. */
  summary: string;
  /** A note that names the series that were left out; empty for none. */
  note: string;
  /** The keyboard access to the points, where points may be chosen: an element beside the canvas. */
  pointsElement: HTMLElement | undefined;
  end(): void;
  /** Returns a PNG of the canvas with its legend, on the colour of the card. */
  makePicture(): Promise<Blob>;
}

/**
 * Draws a chart on a canvas, with its legend beside the box; undefined if the result does not fit the chart.
 * @param hiddenLabels the series or parts that the viewer has hidden by the legend, kept up to date for the next drawing
 */
export function drawOnCanvas(
  canvas: HTMLCanvasElement,
  data: ResultData,
  chart: ChartDefinition,
  hiddenLabels: Set<string>,
  onChoose?: (point: DataPoint) => void,
): Drawing | undefined {
  const prepared = makeConfiguration(data, chart);
  if (!prepared) return undefined;
  let button: PointButton | undefined;
  const { legendEntries: entries } = prepared;
  if (entries.length > 0) {
    // It takes its room before the chart is drawn in what is left.
    const legend = buildLegend(entries, hiddenLabels, (at, label) => {
      const isDrawn = toggleEntry(drawnChart, at);
      if (isDrawn) hiddenLabels.delete(label);
      else hiddenLabels.add(label);
      return isDrawn;
    });
    canvas.parentElement?.[chart.type === 'pie' ? 'after' : 'before'](legend);
  }
  const positionPlugin = { id: 'point-button', afterRender: () => button?.moveToPoint() };
  const drawnChart = new Chart(canvas, {
    ...prepared.configuration,
    plugins: [...(prepared.configuration.plugins ?? []), positionPlugin],
  });
  for (const [at, { label }] of entries.entries()) if (hiddenLabels.has(label)) toggleEntry(drawnChart, at);
  if (onChoose) {
    canvas.addEventListener('click', (event) => reportPoint(drawnChart, event, prepared.getPoint, onChoose));
    button = createPointButton(drawnChart, prepared.getPoint, makePointDescriber(data, chart), onChoose);
    canvas.after(button.element);
  }
  const series = prepared.configuration.data.datasets.length;
  const cutNote = series < prepared.seriesCount ? TEXTS.seriesCut(series, prepared.seriesCount) : '';
  return {
    summary: prepared.summary,
    note: prepared.note ?? cutNote,
    pointsElement: button?.element,
    end: () => drawnChart.destroy(),
    makePicture: async () => (await import('./image.ts')).takePicture(canvas, entries),
  };
}

/** Makes a function that describes a point in words: its values by column, formatted as in a table. */
function makePointDescriber(data: ResultData, chart: ChartDefinition): (point: DataPoint) => string {
  const formats = makeColumnFormats(data, chart);
  const texts = new Map(data.columns.map(({ name }, at) => [name, formats[at]]));
  const formatPair = ([name, cell]: [string, ViewCell]) => `${name}: ${formatLabel(texts.get(name) ?? String, cell)}`;
  return (point) => formatList(Object.entries(point).map(formatPair));
}

/** The maximum distance from a point at which pressing chooses it. CSS pixels. */
const MAX_POINT_DISTANCE = 24;

function reportPoint(chart: Chart, event: MouseEvent, getPoint: GetPoint, onChoose: (point: DataPoint) => void): void {
  const findElements = (intersect: boolean) => chart.getElementsAtEventForMode(event, 'nearest', { intersect }, true);
  const isNear = ({ element: { x, y } }: { element: { x: number; y: number } }) =>
    Math.hypot(x - event.offsetX, y - event.offsetY) <= MAX_POINT_DISTANCE;
  const [pressed] = [...findElements(true), ...findElements(false).filter(isNear)];
  const point = pressed && getPoint(pressed.datasetIndex, pressed.index);
  if (point) onChoose(point);
}

/** Hides or shows a series or a part of a whole. @returns whether it is now shown */
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
  seriesCount: number;
  getPoint: GetPoint;
  /** The entries of the chart's legend; none where there is one series. */
  legendEntries: LegendEntry[];
  note?: string;
}

function makeConfiguration(data: ResultData, chart: ChartDefinition): PreparedChart | undefined {
  if (chart.type === 'scatter') {
    const scatterPlot = makeScatterPlot(data, chart);
    const points = scatterPlot?.clouds.reduce((sum, { points: { length } }) => sum + length, 0);
    return (
      scatterPlot && {
        configuration: makeScatter(scatterPlot, chart),
        summary: TEXTS.scatterSummary(points ?? 0, scatterPlot.yLabel, scatterPlot.xLabel),
        seriesCount: scatterPlot.clouds.length,
        getPoint: (cloud, index) => scatterPlot.clouds[cloud]?.points[index]?.dataPoint,
        legendEntries: toEntries(scatterPlot.clouds),
      }
    );
  }
  const summarize = (seriesLabels: string[], xLabel: string, valueCount: number) =>
    TEXTS.plotSummary(formatList(seriesLabels.slice(0, 3)), seriesLabels.length > 3, xLabel, valueCount);
  if (chart.type === 'pie') {
    const piePlot = makePiePlot(data, chart);
    if (!piePlot) return undefined;
    const { xLabel, seriesLabels, parts, style } = piePlot;
    const slices = makeSlices(parts);
    return {
      configuration: makePie(slices, style),
      summary: summarize(seriesLabels, xLabel, parts.length),
      seriesCount: 1,
      getPoint: (_pie, index) => slices[index]?.getPoint?.(),
      ...makePartEntries(
        slices,
        parts.filter(({ value }) => value < 0),
        style,
      ),
    };
  }
  const plot = makePlot(data, chart);
  if (!plot) return undefined;
  const seriesLabels = plot.series.map(({ label }) => label);
  const order = chart.type === 'bar' ? undefined : sortByTime(plot);
  const getPoint: GetPoint = (at, index) => {
    const [series, label] = [plot.series[at], order?.[index] ?? index];
    return typeof series?.values[label] === 'number' ? series.getPoint(label) : undefined;
  };
  const entries = toEntries(plot.series, chart.type === 'bar' ? 'rect' : undefined);
  return {
    configuration: makeCartesian(plot, chart),
    summary: summarize(seriesLabels, plot.xLabel, plot.labels.length),
    seriesCount: plot.seriesCount,
    getPoint,
    legendEntries: entries,
  };
}

/** Makes the legend entries of several series; none for one. */
const toEntries = (series: readonly { label: string }[], shape?: string): LegendEntry[] =>
  series.length < 2
    ? []
    : series
        .slice(0, MAX_SERIES)
        .map(({ label }, at) => ({ label, colour: getSeriesColour(at), shape: shape ?? getPointShape(at) }));

/** Makes the legend entries of the parts of a whole, and a note about those that the last one combines, and those left out. */
function makePartEntries(
  slices: readonly Slice[],
  negativeParts: readonly Slice[],
  style: NumberStyle,
): { legendEntries: LegendEntry[]; note: string } {
  const formatShare = createShareFormatter(slices);
  const { label = '', parts: otherParts = [] } = slices.at(-1) ?? {};
  const nameParts = (parts: readonly Slice[], format: (slice: Slice) => string) => {
    const names = parts.slice(0, MAX_NAMED_PARTS).map((slice) => `${slice.label} ${format(slice)}`);
    return [...names, ...(parts.length > MAX_NAMED_PARTS ? ['…'] : [])].join(', ');
  };
  const notes = [
    otherParts.length > 0 && `${label}: ${nameParts(otherParts, formatShare)}`,
    negativeParts.length > 0 &&
      TEXTS.negativeParts(nameParts(negativeParts, ({ value }) => formatNumber(value, style))),
  ];
  return {
    legendEntries: slices.map((slice, at) => ({
      label: slice.label,
      colour: getSeriesColour(at),
      shape: 'circle',
      value: formatNumber(slice.value, style),
      share: formatShare(slice),
    })),
    note: notes.filter(Boolean).join('. '),
  };
}

/** The maximum number of parts that a note names. */
const MAX_NAMED_PARTS = 12;

const createShareFormatter = (slices: readonly Slice[]): ((slice: Slice, decimals?: number) => string) => {
  const total = sumValues(slices);
  return ({ value }, decimals = 1) => formatNumber(value / total, { format: 'percent', decimals });
};

function makeScatter({ clouds, style, xLabel, yLabel }: ScatterPlot, { options }: ChartDefinition): ChartConfiguration {
  return {
    type: 'scatter',
    data: {
      datasets: clouds.slice(0, MAX_SERIES).map(({ label, points }, index) => ({
        label,
        data: points,
        backgroundColor: addOpacity(getSeriesColour(index), 0.65),
        borderColor: getSeriesColour(index),
        pointStyle: getPointShape(index),
        pointRadius: 4,
      })),
    },
    options: {
      ...makeCommonOptions(style),
      scales: {
        x: makeAxis(getTitle(options.x_label) ?? xLabel),
        y: makeAxis(getTitle(options.y_label) ?? yLabel, style),
      },
    } as ChartOptions,
  };
}

/** The minimum share of a slice that is labelled: a smaller slice has no space for its share. */
const MIN_LABELLED_SHARE = 0.06;

function makePie(slices: readonly Slice[], style: NumberStyle): ChartConfiguration {
  const formatShare = createShareFormatter(slices);
  return {
    type: 'pie',
    plugins: [makeShareLabels(slices)],
    data: {
      labels: slices.map(({ label }) => label),
      datasets: [
        {
          data: slices.map(({ value }) => value),
          backgroundColor: slices.map((_slice, index) => getSeriesColour(index)),
          borderColor: getPalette().card,
          borderWidth: 2,
        },
      ],
    },
    options: {
      ...makeCommonOptions(style),
      layout: { padding: 4 },
      plugins: {
        tooltip: {
          callbacks: {
            label: ({ dataIndex }: { dataIndex: number }) => {
              const slice = slices[dataIndex] as Slice;
              return ` ${slice.label}: ${formatNumber(slice.value, style)} (${formatShare(slice)})`;
            },
          },
        },
      },
    } as ChartOptions,
  };
}

/** Makes the plugin that writes the share of each slice on it, where there is space. */
const makeShareLabels = (slices: readonly Slice[]): Plugin => ({
  id: 'shares',
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    const visibleSlices = slices.filter((_slice, at) => chart.getDataVisibility(at));
    // Of the whole, as in the legend, whatever is hidden.
    const formatShare = createShareFormatter(slices);
    const total = sumValues(visibleSlices);
    ctx.save();
    ctx.font = `600 12px ${Chart.defaults.font.family}`;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    chart.getDatasetMeta(0).data.forEach((arc, at) => {
      const slice = slices[at] as Slice;
      const { startAngle, endAngle, outerRadius, x, y } = arc as ArcElement;
      if (!visibleSlices.includes(slice) || slice.value / total < MIN_LABELLED_SHARE || outerRadius < 45) return;
      const angle = (startAngle + endAngle) / 2;
      // A whole has its share in the middle.
      const distance = visibleSlices.length === 1 ? 0 : outerRadius * 0.68;
      ctx.fillStyle = chooseTextColour(getSeriesColour(at));
      ctx.fillText(formatShare(slice, 0), x + Math.cos(angle) * distance, y + Math.sin(angle) * distance);
    });
    ctx.restore();
  },
});
