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
import type { ViewChart } from '../../kernel/viewing.ts';
import { type NumberStyle, numberText } from './format.ts';
import { faded, palette, pointShape, seriesColour } from './palette.ts';
import { type Clouds, cloudsOf, type Data, MAX_SERIES, type Plot, plotOf, slicesOf } from './plot.ts';

Chart.register(
  ...[ArcElement, BarController, BarElement, CategoryScale, Filler, Legend, LinearScale, LineController, LineElement],
  ...[PieController, PointElement, ScatterController, Tooltip],
);

Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;

type ChartTerms = ViewChart['chart'];

/** Points closer than this many are drawn as dots too. */
const DOTTED_POINTS = 60;

/** A drawn chart. */
export interface Drawing {
  /** What a screen reader says of it. */
  summary: string;
  end(): void;
}

/** Draws a chart on a canvas, or returns undefined when the result does not fit it. */
export function draw(canvas: HTMLCanvasElement, data: Data, chart: ChartTerms): Drawing | undefined {
  const made = configurationOf(data, chart);
  if (!made) return undefined;
  const drawn = new Chart(canvas, made.configuration);
  return { summary: made.summary, end: () => drawn.destroy() };
}

function configurationOf(
  data: Data,
  chart: ChartTerms,
): { configuration: ChartConfiguration; summary: string } | undefined {
  if (chart.type === 'scatter') {
    const clouds = cloudsOf(data, chart);
    const points = clouds?.clouds.reduce((sum, { points: { length } }) => sum + length, 0);
    return (
      clouds && {
        configuration: scatter(clouds, chart),
        summary: `${points} points, ${clouds.yLabel} by ${clouds.xLabel}`,
      }
    );
  }
  const plot = plotOf(data, chart);
  if (!plot) return undefined;
  const names = plot.series.slice(0, 3).map(({ label }) => label);
  const summary = `${names.join(', ')}${plot.series.length > 3 ? ' …' : ''} by ${plot.xLabel}, ${plot.labels.length} values`;
  return { configuration: chart.type === 'pie' ? pie(plot) : cartesian(plot, chart), summary };
}

function cartesian(plot: Plot, { type, options }: ChartTerms): ChartConfiguration {
  const stacked = options.stacked === true;
  const horizontal = type === 'bar' && options.horizontal === true;
  const sparse = plot.labels.length <= DOTTED_POINTS;
  return {
    type: type === 'bar' ? 'bar' : 'line',
    data: {
      labels: plot.labels,
      datasets: plot.series.slice(0, MAX_SERIES).map(({ label, values }, index) => {
        const colour = seriesColour(index);
        const common = { label, data: values, borderColor: colour };
        if (type === 'bar') return { ...common, backgroundColor: colour, borderRadius: 3, maxBarThickness: 56 };
        return {
          ...common,
          backgroundColor: type === 'area' ? faded(colour, 0.25) : colour,
          fill: type === 'area' && (stacked && index > 0 ? '-1' : 'origin'),
          borderWidth: 2,
          pointRadius: sparse ? 3 : 0,
          pointHoverRadius: 5,
          pointBackgroundColor: colour,
          pointStyle: pointShape(index),
          tension: 0,
        };
      }),
    },
    options: {
      ...common(plot.style, plot.series.length > 1),
      indexAxis: horizontal ? 'y' : 'x',
      interaction: { mode: 'index', intersect: false, axis: horizontal ? 'y' : 'x' },
      scales: {
        [horizontal ? 'y' : 'x']: { ...axis(titleOf(options.x_label)), stacked, grid: { display: false } },
        [horizontal ? 'x' : 'y']: {
          ...axis(titleOf(options.y_label), plot.style),
          stacked,
          beginAtZero: type !== 'line',
        },
      },
    } as ChartOptions,
  };
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

function pie(plot: Plot): ChartConfiguration {
  const slices = slicesOf(plot);
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

const titleOf = (option: unknown): string | undefined =>
  typeof option === 'string' && option !== '' ? option : undefined;

/** What all charts have in common. Nothing moves: data is there at once. */
function common(style: NumberStyle, legend: boolean, position: 'top' | 'right' = 'top') {
  const { text } = palette();
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    color: text,
    plugins: {
      legend: {
        display: legend,
        position,
        align: 'start',
        labels: { color: text, usePointStyle: true, boxHeight: 8, boxWidth: 8 },
      },
      tooltip: {
        callbacks: {
          label: ({
            dataset,
            parsed,
            raw,
          }: {
            dataset: { label?: string };
            parsed: { x: number; y: number };
            raw: unknown;
          }) => {
            const value = typeof raw === 'object' && raw !== null ? parsed.y : (raw as number);
            return ` ${dataset.label}: ${numberText(value, style)}`;
          },
        },
      },
    },
  } as const;
}

function axis(title?: string, style?: NumberStyle) {
  const { text, grid } = palette();
  return {
    title: { display: title !== undefined, text: title, color: text },
    grid: { color: grid },
    border: { display: false },
    ticks: {
      color: text,
      maxRotation: 30,
      autoSkipPadding: 6,
      ...(style && { callback: (value: number | string) => numberText(Number(value), shortened(style)) }),
    },
  };
}

/** Ticks need no more digits than they have. */
const shortened = (style: NumberStyle): NumberStyle =>
  style.format === 'currency' ? { ...style, decimals: style.decimals ?? 0 } : { ...style, decimals: undefined };
