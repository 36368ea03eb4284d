import type { ChartConfiguration, ChartOptions, Scale } from 'chart.js';
import { truncateText } from '../../kernel/text.ts';
import type { ViewChart } from '../../presentation/viewing.ts';
import { getTitle, makeAxis, makeCommonOptions } from './common.ts';
import { addOpacity, getPalette, getPointShape, getSeriesColour } from './palette.ts';
import type { Plot } from './plot.ts';
import { chooseTimestampTicks, type Tick } from './timestamps.ts';

/** The number of points from which on lines have no dots. */
const MAX_DOTTED_POINTS = 60;
/** The width of a timestamp along an axis, in pixels. */
const TICK_WIDTH_PIXELS = 90;
/** The width of a character in pixels. */
const CHARACTER_WIDTH_PIXELS = 8.5;
/** The maximum length of a name below a bar in characters. */
const MAX_LABEL_CHARACTERS = 18;

/** Makes the configuration of lines, areas and bars. If x is time, lines and areas have an axis of time. */
export function makeCartesian(plot: Plot, { type, options }: ViewChart['chart']): ChartConfiguration {
  const isStacked = options.stacked === true;
  const isHorizontal = type === 'bar' && options.horizontal === true;
  const timeline = type === 'bar' ? undefined : makeTimeline(plot);
  const commonOptions = makeCommonOptions(plot.style);
  const { tooltip } = commonOptions.plugins;
  const getPointTitle = (items: { dataIndex: number }[]) => timeline?.labels[items[0]?.dataIndex ?? -1] ?? '';
  return {
    type: type === 'bar' ? 'bar' : 'line',
    data: {
      labels: timeline ? undefined : plot.labels,
      datasets: plot.series.map(({ label, values }, index) => ({
        label,
        data: timeline ? timeline.points(values) : values,
        ...(type === 'bar'
          ? makeBarStyle(index)
          : makeLineStyle(index, type === 'area', isStacked, plot.labels.length)),
      })),
    },
    options: {
      ...commonOptions,
      plugins: timeline
        ? { ...commonOptions.plugins, tooltip: { callbacks: { ...tooltip.callbacks, title: getPointTitle } } }
        : commonOptions.plugins,
      indexAxis: isHorizontal ? 'y' : 'x',
      interaction: { mode: 'index', intersect: false, axis: isHorizontal ? 'y' : 'x' },
      scales: {
        [isHorizontal ? 'y' : 'x']: {
          ...makeAxis(getTitle(options.x_label)),
          ...(timeline ? timeline.scale : makeNameAxis(isHorizontal)),
          stacked: timeline ? false : isStacked,
          grid: { display: false },
        },
        [isHorizontal ? 'x' : 'y']: {
          ...makeAxis(getTitle(options.y_label), plot.style),
          stacked: isStacked,
          beginAtZero: type !== 'line',
        },
      },
    } as ChartOptions,
  };
}

/** Makes the options of names along an axis. Long names are cut to leave space for the chart; the tooltip has the whole name. */
const makeNameAxis = (isVertical: boolean) => ({
  ticks: {
    color: getPalette().text,
    maxRotation: 60,
    autoSkipPadding: 4,
    callback(this: Scale, value: number) {
      const name = this.getLabelForValue(value);
      const maxCharacters = isVertical
        ? Math.floor((this.chart.width * 0.4) / CHARACTER_WIDTH_PIXELS)
        : MAX_LABEL_CHARACTERS;
      return name.length > maxCharacters ? `${truncateText(name, Math.max(1, maxCharacters - 1)).trimEnd()}…` : name;
    },
  },
});

const makeBarStyle = (index: number) => ({
  backgroundColor: getSeriesColour(index),
  borderRadius: 3,
  maxBarThickness: 56,
});

function makeLineStyle(index: number, isArea: boolean, isStacked: boolean, pointCount: number) {
  const colour = getSeriesColour(index);
  return {
    borderColor: colour,
    backgroundColor: isArea ? addOpacity(colour, 0.25) : colour,
    fill: isArea && (isStacked && index > 0 ? '-1' : 'origin'),
    borderWidth: 2,
    // Dots at the ends reach out of the chart's area.
    clip: 8,
    pointRadius: pointCount <= MAX_DOTTED_POINTS ? 3 : 0,
    pointHoverRadius: 5,
    pointBackgroundColor: colour,
    pointStyle: getPointShape(index),
    // A series may lack values where another has some.
    spanGaps: true,
  };
}

/** Sorts the indexes of the labels by time; undefined if the labels are not time. */
export const sortByTime = ({ timestamps }: Plot): number[] | undefined =>
  timestamps?.map((_timestamp, at) => at).sort((a, b) => (timestamps[a] as number) - (timestamps[b] as number));

/** Makes the points in order of time, and their axis; undefined if x is not time. */
function makeTimeline(plot: Plot) {
  const { timestamps, labels } = plot;
  const order = sortByTime(plot);
  if (!timestamps || !order) return undefined;
  const [min, max] = [timestamps[order[0] as number], timestamps[order.at(-1) as number]] as [number, number];
  return {
    labels: order.map((at) => labels[at]),
    points: (values: (number | null)[]) => order.map((at) => ({ x: timestamps[at] as number, y: values[at] ?? null })),
    scale: {
      type: 'linear',
      min,
      max,
      afterBuildTicks: (scale: { ticks: Tick[]; width: number }) => {
        scale.ticks = chooseTimestampTicks(min, max, Math.max(2, Math.floor(scale.width / TICK_WIDTH_PIXELS)));
      },
      ticks: {
        color: getPalette().text,
        maxRotation: 0,
        callback: (_value: unknown, at: number, ticks: Tick[]) => ticks[at]?.label,
      },
    },
  };
}
