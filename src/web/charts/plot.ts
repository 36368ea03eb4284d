import type { ViewCell, ViewChart, ViewColumn } from '../../presentation/viewing.ts';
import { TEXTS } from '../texts.ts';
import { labelText, type NumberStyle, parseNumberStyle, periodTextOf, toNumber } from './format.ts';
import { parseTimestamps } from './timestamps.ts';

/** Columns and rows of a result that has no error. */
export interface Data {
  columns: ViewColumn[];
  rows: ViewCell[][];
}

/** Values by column: of a row, or of several that a chart draws as one. */
export type Point = Record<string, ViewCell>;

export const toPoint = (columns: readonly ViewColumn[], row: readonly ViewCell[]): Point =>
  Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null]));

/** One line, set of bars or cloud of points. */
export interface Series {
  label: string;
  /** One value for each label of the plot; null where the series has none. */
  values: (number | null)[];
  /** The point that is drawn at a label. */
  pointAt(label: number): Point;
}

/** The data of a line, bar, area or pie chart. */
export interface Plot {
  xLabel: string;
  labels: string[];
  /** Milliseconds since the epoch for each label, where all are timestamps. */
  timestamps: number[] | undefined;
  series: Series[];
  style: NumberStyle;
}

/** The data of a scatter chart. */
export interface Clouds {
  xLabel: string;
  yLabel: string;
  clouds: { label: string; points: { x: number; y: number; of: Point }[] }[];
  style: NumberStyle;
}

/** The maximum number of series that are drawn, as nobody can tell more apart; the page says that the rest is left out. */
export const MAX_SERIES = 20;

/** The columns by their role; a chart of single numbers needs no x. */
export interface Roles {
  x: number;
  y: number[];
  series: number | null;
}

const isNumber = ({ type }: ViewColumn): boolean => type === 'integer' || type === 'decimal';

/**
 * Assigns roles to columns: those that the chart names, else the first column that is not a number to x and all other
 * numbers to y.
 * @returns undefined if the chart names a column that the result lacks, or there is nothing to draw
 */
export function findRoles({ columns }: Data, { x, y, series, type }: ViewChart['chart']): Roles | undefined {
  const index = (name: string | null) => columns.findIndex((column) => column.name === name);
  const named = [x, series, ...y].filter((name) => name !== null).map(index);
  if (named.includes(-1)) return undefined;
  const seriesIndex = series === null ? null : index(series);
  const free = columns
    .map((_column, at) => at)
    .filter((at) => at !== seriesIndex && !y.includes(columns[at]?.name ?? ''));
  const fits = (at: number) => isNumber(columns[at] as ViewColumn) === (type === 'scatter');
  const xIndex = type === 'number' ? -1 : x === null ? (free.find(fits) ?? free[0] ?? -1) : index(x);
  const numbers = free.filter((at) => at !== xIndex && isNumber(columns[at] as ViewColumn));
  const yIndexes = y.length > 0 ? y.map(index) : numbers;
  const lacksX = xIndex < 0 && type !== 'number';
  return lacksX || yIndexes.length === 0 ? undefined : { x: xIndex, y: yIndexes, series: seriesIndex };
}

/** The plot of a line, bar, area or pie chart; undefined if the result does not fit the chart. */
export function makePlot(data: Data, chart: ViewChart['chart']): Plot | undefined {
  const roles = findRoles(data, chart);
  if (!roles) return undefined;
  const style = parseNumberStyle(chart.options);
  const x = data.columns[roles.x] as ViewColumn;
  const cells = data.rows.map((row) => row[roles.x] ?? null);
  const text = periodTextOf(x, cells);
  if (roles.series === null) {
    const series = roles.y.map((at) => ({
      label: data.columns[at]?.name ?? '',
      values: data.rows.map((row) => toNumber(row[at])),
      pointAt: (label: number) => toPoint(data.columns, data.rows[label] ?? []),
    }));
    return {
      xLabel: x.name,
      labels: cells.map((cell) => labelText(text, cell)),
      timestamps: parseTimestamps(x, cells),
      series,
      style,
    };
  }
  const places = new Map<ViewCell, number>();
  for (const cell of cells) if (!places.has(cell)) places.set(cell, places.size);
  const { name: ofSeries = '' } = data.columns[roles.series] ?? {};
  const keys = [...places.keys()];
  const series = splitSeries(data, roles).map(([label, y, rows]) => {
    const values: (number | null)[] = Array(places.size).fill(null);
    for (const row of rows) {
      const place = places.get(row[roles.x] ?? null) as number;
      const value = toNumber(row[y]);
      if (value !== null) values[place] = (values[place] ?? 0) + value;
    }
    const pointAt = (at: number): Point => ({
      [x.name]: keys[at] ?? null,
      [ofSeries]: rows[0]?.[roles.series as number] ?? null,
      [data.columns[y]?.name ?? '']: values[at] ?? null,
    });
    return { label, values, pointAt };
  });
  return {
    xLabel: x.name,
    labels: keys.map((cell) => labelText(text, cell)),
    timestamps: parseTimestamps(x, keys),
    series,
    style,
  };
}

/** The points of a scatter chart; undefined if the result does not fit the chart. */
export function makeClouds(data: Data, chart: ViewChart['chart']): Clouds | undefined {
  const roles = findRoles(data, chart);
  if (!roles) return undefined;
  const clouds = splitSeries(data, roles).map(([label, y, rows]) => ({
    label,
    points: rows.flatMap((row) => {
      const [px, py] = [toNumber(row[roles.x]), toNumber(row[y])];
      return px === null || py === null ? [] : [{ x: px, y: py, of: toPoint(data.columns, row) }];
    }),
  }));
  const name = (at: number) => data.columns[at]?.name ?? '';
  return {
    xLabel: name(roles.x),
    yLabel: roles.y.map(name).join(', '),
    clouds,
    style: parseNumberStyle(chart.options),
  };
}

/** The rows of each series: one for each value of the series column and each y, in the order of the rows. */
function splitSeries({ columns, rows }: Data, { y, series }: Roles): [label: string, y: number, rows: ViewCell[][]][] {
  if (series === null) return y.map((at) => [columns[at]?.name ?? '', at, rows]);
  const text = periodTextOf(
    columns[series] as ViewColumn,
    rows.map((row) => row[series] ?? null),
  );
  const groups = Map.groupBy(rows, (row) => row[series] ?? null);
  return [...groups].flatMap(([value, group]) =>
    y.map((at): [string, number, ViewCell[][]] => {
      const label = labelText(text, value);
      return [y.length > 1 ? `${label} · ${columns[at]?.name}` : label, at, group];
    }),
  );
}

/** A part of a whole, and the parts in it where it is several together: that is no point of the data. */
export interface Slice {
  label: string;
  value: number;
  of?: Point;
  parts?: Slice[];
}

/** Parts below this are too small to be told apart. */
const MIN_SLICE_SHARE = 0.03;

/** A pie's slices, largest first, none for zero or less. Several below 3 % are one. */
export function makeSlices({ labels, series }: Plot): Slice[] {
  const slices = labels
    .map((label, at): Slice => ({ label, value: series[0]?.values[at] ?? 0, of: series[0]?.pointAt(at) ?? {} }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value);
  const least = sumValues(slices) * MIN_SLICE_SHARE;
  const large = slices.filter(({ value }) => value >= least).length;
  const kept = slices.length - large < 2 ? slices.length : large;
  const parts = slices.slice(kept);
  const other = { label: TEXTS.other, value: sumValues(parts), parts };
  return [...slices.slice(0, kept), ...(parts.length > 0 ? [other] : [])];
}

export const sumValues = (slices: readonly Slice[]): number => slices.reduce((sum, { value }) => sum + value, 0);
