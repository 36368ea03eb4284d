import type { ViewCell, ViewChart, ViewColumn } from '../../presentation/viewing.ts';
import { TEXTS } from '../texts.ts';
import { formatLabel, makePeriodFormat, type NumberStyle, parseNumberStyle, toNumber } from './format.ts';
import { parseTimestamps } from './timestamps.ts';

/** The columns and rows of a result that has no error. */
export interface ResultData {
  columns: ViewColumn[];
  rows: ViewCell[][];
}

/** Values by column: of one row, or of several rows that a chart draws as one point. */
export type DataPoint = Record<string, ViewCell>;

export const toPoint = (columns: readonly ViewColumn[], row: readonly ViewCell[]): DataPoint =>
  Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null]));

/** One line, set of bars or cloud of points of a plot. */
export interface Series {
  label: string;
  /** The values, one for each label of the plot; null where the series has none. */
  values: (number | null)[];
  /** Returns the point that is drawn at a label. */
  getPoint(label: number): DataPoint;
}

/** The data of a line, bar or area chart. */
export interface Plot {
  xLabel: string;
  labels: string[];
  /** The time of each label in milliseconds since the epoch, where all labels are timestamps. */
  timestamps: number[] | undefined;
  /** The first {@link MAX_SERIES} series. */
  series: Series[];
  /** The number of series, with those that are left out. */
  seriesCount: number;
  style: NumberStyle;
}

/** The data of a pie chart. */
export interface PiePlot {
  xLabel: string;
  seriesLabels: string[];
  /** A part for each label and series, in the order of the rows; parts below 0 cannot be drawn. */
  parts: Slice[];
  style: NumberStyle;
}

/** The data of a scatter chart. */
export interface ScatterPlot {
  xLabel: string;
  yLabel: string;
  clouds: { label: string; points: { x: number; y: number; dataPoint: DataPoint }[] }[];
  style: NumberStyle;
}

/** The maximum number of series that are drawn, as viewers cannot tell more apart; the page says that the rest is left out. */
export const MAX_SERIES = 20;

/** The columns by their role; a chart of single numbers needs no x. */
export interface ColumnRoles {
  x: number;
  y: number[];
  series: number | null;
}

const isNumericColumn = ({ type }: ViewColumn): boolean => type === 'integer' || type === 'decimal';

/**
 * Assigns roles to columns: those that the chart names, else the first column that is not a number to x and all other
 * numbers to y.
 * @returns undefined if the chart names a column that the result lacks, or there is nothing to draw
 */
export function findRoles(
  { columns }: ResultData,
  { x, y, series, type }: ViewChart['chart'],
): ColumnRoles | undefined {
  const findColumnIndex = (name: string | null) => columns.findIndex((column) => column.name === name);
  const namedIndexes = [x, series, ...y].filter((name) => name !== null).map(findColumnIndex);
  if (namedIndexes.includes(-1)) return undefined;
  const seriesIndex = series === null ? null : findColumnIndex(series);
  const freeIndexes = columns
    .map((_column, at) => at)
    .filter((at) => at !== seriesIndex && !y.includes(columns[at]?.name ?? ''));
  const isFitForX = (at: number) => isNumericColumn(columns[at] as ViewColumn) === (type === 'scatter');
  const xIndex =
    type === 'number' ? -1 : x === null ? (freeIndexes.find(isFitForX) ?? freeIndexes[0] ?? -1) : findColumnIndex(x);
  const numericIndexes = freeIndexes.filter((at) => at !== xIndex && isNumericColumn(columns[at] as ViewColumn));
  // Parts of a whole are of one column, unless the chart names several.
  const defaultYIndexes = type === 'pie' ? numericIndexes.slice(0, 1) : numericIndexes;
  const yIndexes = y.length > 0 ? y.map(findColumnIndex) : defaultYIndexes;
  const lacksX = xIndex < 0 && type !== 'number';
  return lacksX || yIndexes.length === 0 ? undefined : { x: xIndex, y: yIndexes, series: seriesIndex };
}

/** Returns the text that says why a result is shown as a table instead of as the chart; undefined if it can be drawn. */
export function findChartProblem(data: ResultData, chart: ViewChart['chart']): string | undefined {
  if (chart.type === 'table') return undefined;
  if (!findRoles(data, chart)) return TEXTS.missingColumn;
  if (chart.type !== 'pie') return undefined;
  return makePiePlot(data, chart)?.parts.some(({ value }) => value > 0) ? undefined : TEXTS.noParts;
}

type SummedRows = { y: number; cell: ViewCell | undefined; firstRow: ViewCell[]; sum: ViewCell | undefined };

/** Makes the point of several rows that have the same label and series: both, and the sum of their values of y. */
const toSumPoint = (
  { columns }: ResultData,
  { x, series }: ColumnRoles,
  { y, cell, firstRow, sum }: SummedRows,
): DataPoint => ({
  [columns[x]?.name ?? '']: cell ?? null,
  [columns[series as number]?.name ?? '']: firstRow[series as number] ?? null,
  [columns[y]?.name ?? '']: sum ?? null,
});

/** Makes the plot of a line, bar or area chart; undefined if the result does not fit the chart. */
export function makePlot(data: ResultData, chart: ViewChart['chart']): Plot | undefined {
  const roles = findRoles(data, chart);
  if (!roles) return undefined;
  const style = parseNumberStyle(chart.options);
  const x = data.columns[roles.x] as ViewColumn;
  const cells = data.rows.map((row) => row[roles.x] ?? null);
  const formatPeriod = makePeriodFormat(x, cells);
  if (roles.series === null) {
    const series = roles.y.slice(0, MAX_SERIES).map((at) => ({
      label: data.columns[at]?.name ?? '',
      values: data.rows.map((row) => toNumber(row[at])),
      getPoint: (label: number) => toPoint(data.columns, data.rows[label] ?? []),
    }));
    return {
      xLabel: x.name,
      labels: cells.map((cell) => formatLabel(formatPeriod, cell)),
      timestamps: parseTimestamps(x, cells),
      series,
      seriesCount: roles.y.length,
      style,
    };
  }
  const labelIndexes = new Map<ViewCell, number>();
  for (const cell of cells) if (!labelIndexes.has(cell)) labelIndexes.set(cell, labelIndexes.size);
  const keys = [...labelIndexes.keys()];
  const allSeries = splitSeries(data, roles);
  const series = allSeries.slice(0, MAX_SERIES).map(([label, y, rows]) => {
    const values: (number | null)[] = Array(labelIndexes.size).fill(null);
    for (const row of rows) {
      const labelIndex = labelIndexes.get(row[roles.x] ?? null) as number;
      const value = toNumber(row[y]);
      if (value !== null) values[labelIndex] = (values[labelIndex] ?? 0) + value;
    }
    const [firstRow = []] = rows;
    const getPoint = (at: number) => toSumPoint(data, roles, { y, cell: keys[at], firstRow, sum: values[at] });
    return { label, values, getPoint };
  });
  return {
    xLabel: x.name,
    labels: keys.map((cell) => formatLabel(formatPeriod, cell)),
    timestamps: parseTimestamps(x, keys),
    series,
    seriesCount: allSeries.length,
    style,
  };
}

/** Makes the parts of a pie chart; undefined if the result does not fit the chart. */
export function makePiePlot(data: ResultData, chart: ViewChart['chart']): PiePlot | undefined {
  const roles = findRoles(data, chart);
  if (!roles) return undefined;
  const { columns, rows } = data;
  const x = columns[roles.x] as ViewColumn;
  const readLabel = (row: ViewCell[]) => row[roles.x] ?? null;
  const formatPeriod = makePeriodFormat(x, rows.map(readLabel));
  const allSeries = splitSeries(data, roles);
  const parts = allSeries.flatMap(([seriesLabel, y, seriesRows]) => {
    const groups = roles.series === null ? seriesRows.map((row) => [row]) : Map.groupBy(seriesRows, readLabel).values();
    return Array.from(groups, (group): Slice => {
      const [firstRow = []] = group;
      const label = formatLabel(formatPeriod, readLabel(firstRow));
      const value = group.reduce((sum, row) => sum + (toNumber(row[y]) ?? 0), 0);
      return {
        label: allSeries.length > 1 ? `${label} · ${seriesLabel}` : label,
        value,
        getPoint: () =>
          roles.series === null
            ? toPoint(columns, firstRow)
            : toSumPoint(data, roles, { y, cell: readLabel(firstRow), firstRow, sum: value }),
      };
    });
  });
  const seriesLabels = allSeries.map(([label]) => label);
  return { xLabel: x.name, seriesLabels, parts, style: parseNumberStyle(chart.options) };
}

/** Makes the points of a scatter chart; undefined if the result does not fit the chart. */
export function makeScatterPlot(data: ResultData, chart: ViewChart['chart']): ScatterPlot | undefined {
  const roles = findRoles(data, chart);
  if (!roles) return undefined;
  const clouds = splitSeries(data, roles).map(([label, y, rows]) => ({
    label,
    points: rows.flatMap((row) => {
      const [px, py] = [toNumber(row[roles.x]), toNumber(row[y])];
      return px === null || py === null ? [] : [{ x: px, y: py, dataPoint: toPoint(data.columns, row) }];
    }),
  }));
  const getColumnName = (at: number) => data.columns[at]?.name ?? '';
  return {
    xLabel: getColumnName(roles.x),
    yLabel: roles.y.map(getColumnName).join(', '),
    clouds,
    style: parseNumberStyle(chart.options),
  };
}

/** Splits the rows into those of each series: one for each value of the series column and each y, in the order of the rows. */
function splitSeries(
  { columns, rows }: ResultData,
  { y, series }: ColumnRoles,
): [label: string, y: number, rows: ViewCell[][]][] {
  if (series === null) return y.map((at) => [columns[at]?.name ?? '', at, rows]);
  const formatPeriod = makePeriodFormat(
    columns[series] as ViewColumn,
    rows.map((row) => row[series] ?? null),
  );
  const groups = Map.groupBy(rows, (row) => row[series] ?? null);
  return [...groups].flatMap(([value, group]) =>
    y.map((at): [string, number, ViewCell[][]] => {
      const label = formatLabel(formatPeriod, value);
      return [y.length > 1 ? `${label} · ${columns[at]?.name}` : label, at, group];
    }),
  );
}

/** A part of a whole; with `parts` if it combines several parts, and is then no point of the data. */
export interface Slice {
  label: string;
  value: number;
  getPoint?: () => DataPoint;
  parts?: Slice[];
}

/** The share of the whole below which slices are too small to be told apart. */
const MIN_SLICE_SHARE = 0.03;

/**
 * Makes a pie's slices, the largest first, without values of zero or less. Several slices below 3 % become
 * one.
 */
export function makeSlices(allParts: readonly Slice[]): Slice[] {
  const slices = allParts.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value);
  const minValue = sumValues(slices) * MIN_SLICE_SHARE;
  const largeCount = slices.filter(({ value }) => value >= minValue).length;
  const keptCount = slices.length - largeCount < 2 ? slices.length : largeCount;
  const parts = slices.slice(keptCount);
  // The data may have a part of this name, too.
  const isTaken = allParts.some(({ label }) => label === TEXTS.other);
  const label = isTaken ? `${TEXTS.other} (${parts.length})` : TEXTS.other;
  const otherSlice = { label, value: sumValues(parts), parts };
  return [...slices.slice(0, keptCount), ...(parts.length > 0 ? [otherSlice] : [])];
}

export const sumValues = (slices: readonly Slice[]): number => slices.reduce((sum, { value }) => sum + value, 0);
