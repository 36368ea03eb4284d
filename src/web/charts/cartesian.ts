import type { ChartConfiguration, ChartOptions, Scale } from 'chart.js';
import { cut } from '../../kernel/text.ts';
import type { ViewChart } from '../../presentation/viewing.ts';
import { axis, getTitle, makeCommonOptions } from './common.ts';
import { palette, pointShape, seriesColour, withOpacity } from './palette.ts';
import { MAX_SERIES, type Plot } from './plot.ts';
import { type Tick, timestampTicks } from './timestamps.ts';

/** Lines of fewer points than this also have dots. */
const DOTTED_POINTS = 60;
/** The width of a timestamp along an axis, in pixels. */
const TICK_WIDTH = 90;
/** The width of a character in pixels, and the longest name below a bar in characters. */
const CHARACTER_WIDTH = 8.5;
const MAX_LABEL_CHARACTERS = 18;

/** Lines, areas and bars. If x is time, lines and areas have an axis of time. */
export function cartesian(plot: Plot, { type, options }: ViewChart['chart']): ChartConfiguration {
  const stacked = options.stacked === true;
  const horizontal = type === 'bar' && options.horizontal === true;
  const timeline = type === 'bar' ? undefined : makeTimeline(plot);
  const shared = makeCommonOptions(plot.style);
  const { tooltip } = shared.plugins;
  const title = (items: { dataIndex: number }[]) => timeline?.labels[items[0]?.dataIndex ?? -1] ?? '';
  return {
    type: type === 'bar' ? 'bar' : 'line',
    data: {
      labels: timeline ? undefined : plot.labels,
      datasets: plot.series.slice(0, MAX_SERIES).map(({ label, values }, index) => ({
        label,
        data: timeline ? timeline.points(values) : values,
        ...(type === 'bar' ? barStyle(index) : lineStyle(index, type === 'area', stacked, plot.labels.length)),
      })),
    },
    options: {
      ...shared,
      plugins: timeline
        ? { ...shared.plugins, tooltip: { callbacks: { ...tooltip.callbacks, title } } }
        : shared.plugins,
      indexAxis: horizontal ? 'y' : 'x',
      interaction: { mode: 'index', intersect: false, axis: horizontal ? 'y' : 'x' },
      scales: {
        [horizontal ? 'y' : 'x']: {
          ...axis(getTitle(options.x_label)),
          ...(timeline ? timeline.scale : names(horizontal)),
          stacked: timeline ? false : stacked,
          grid: { display: false },
        },
        [horizontal ? 'x' : 'y']: {
          ...axis(getTitle(options.y_label), plot.style),
          stacked,
          beginAtZero: type !== 'line',
        },
      },
    } as ChartOptions,
  };
}

/** Names along an axis. Long names are cut to leave room for the chart; the tooltip has the whole name. */
const names = (beside: boolean) => ({
  ticks: {
    color: palette().text,
    maxRotation: 60,
    autoSkipPadding: 4,
    callback(this: Scale, value: number) {
      const name = this.getLabelForValue(value);
      const most = beside ? Math.floor((this.chart.width * 0.4) / CHARACTER_WIDTH) : MAX_LABEL_CHARACTERS;
      return name.length > most ? `${cut(name, Math.max(1, most - 1)).trimEnd()}…` : name;
    },
  },
});

const barStyle = (index: number) => ({ backgroundColor: seriesColour(index), borderRadius: 3, maxBarThickness: 56 });

function lineStyle(index: number, area: boolean, stacked: boolean, points: number) {
  const colour = seriesColour(index);
  return {
    borderColor: colour,
    backgroundColor: area ? withOpacity(colour, 0.25) : colour,
    fill: area && (stacked && index > 0 ? '-1' : 'origin'),
    borderWidth: 2,
    // Dots at the ends reach out of the chart's area.
    clip: 8,
    pointRadius: points <= DOTTED_POINTS ? 3 : 0,
    pointHoverRadius: 5,
    pointBackgroundColor: colour,
    pointStyle: pointShape(index),
    // A series may lack values where another has some.
    spanGaps: true,
  };
}

/** The labels in order of time, by their places; undefined if they are not time. */
export const sortByTime = ({ timestamps }: Plot): number[] | undefined =>
  timestamps?.map((_timestamp, at) => at).sort((a, b) => (timestamps[a] as number) - (timestamps[b] as number));

/** The points in order of time, and their axis; undefined if x is not time. */
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
        scale.ticks = timestampTicks(min, max, Math.max(2, Math.floor(scale.width / TICK_WIDTH)));
      },
      ticks: {
        color: palette().text,
        maxRotation: 0,
        callback: (_value: unknown, at: number, ticks: Tick[]) => ticks[at]?.label,
      },
    },
  };
}
