import { describe, expect, it } from 'vitest';
import type { ViewCell, ViewChart, ViewColumn } from '../../src/presentation/viewing.ts';
import {
  formatNumber,
  makeCellFormat,
  makeColumnFormats,
  makePeriodFormat,
  parseNumberStyle,
} from '../../src/web/charts/format.ts';
import {
  findChartProblem,
  makePiePlot,
  makePlot,
  makeScatterPlot,
  makeSlices,
  type PiePlot,
  type ResultData,
} from '../../src/web/charts/plot.ts';
import { TEXTS } from '../../src/web/texts.ts';

const makeChart = (terms: Partial<ViewChart['chart']>): ViewChart['chart'] => ({
  type: 'line',
  x: null,
  y: [],
  series: null,
  options: {},
  ...terms,
});

const makeData = (columns: [string, ViewColumn['type']][], ...rows: ViewCell[][]): ResultData => ({
  columns: columns.map(([name, type]) => ({ name, type })),
  rows,
});

const SALES_DATA = makeData(
  [
    ['day', 'date'],
    ['region', 'text'],
    ['amount', 'decimal'],
    ['pieces', 'integer'],
  ],
  ['2024-01-05', 'South', '12345678901234567.5', 3],
  ['2024-01-05', 'North', 2, null],
  ['2024-01-06', 'South', 4.5, 1],
  ['2024-01-06', 'South', 0.5, 1],
  [null, null, 1, 1],
);

describe('a plot', () => {
  it('uses the first column without numbers for x, and each column of numbers for y, where the chart names no columns', () => {
    const plot = makePlot(SALES_DATA, makeChart({}));
    expect(plot?.labels).toEqual(['Jan 5, 2024', 'Jan 5, 2024', 'Jan 6, 2024', 'Jan 6, 2024', '(empty)']);
    expect(plot?.series.map(({ label }) => label)).toEqual(['amount', 'pieces']);
    expect(plot?.series[1]?.values).toEqual([3, null, 1, 1, 1]);
    // A point is its row.
    expect(plot?.series[1]?.getPoint(3)).toEqual({ day: '2024-01-06', region: 'South', amount: 0.5, pieces: 1 });
  });

  it('has a position for every x and a line for every series, and adds up the values at the same position', () => {
    const plot = makePlot(SALES_DATA, makeChart({ x: 'day', y: ['amount'], series: 'region' }));
    expect(plot?.labels).toEqual(['Jan 5, 2024', 'Jan 6, 2024', '(empty)']);
    expect(plot?.series.map(({ label, values }) => ({ label, values }))).toEqual([
      { label: 'South', values: [12345678901234568, 5, null] },
      { label: 'North', values: [2, null, null] },
      { label: '(empty)', values: [null, null, 1] },
    ]);
    // Of several rows a point has what they share, and their sum.
    expect(plot?.series[0]?.getPoint(1)).toEqual({ day: '2024-01-06', region: 'South', amount: 5 });
    const bothPlots = makePlot(SALES_DATA, makeChart({ x: 'day', y: ['amount', 'pieces'], series: 'region' }));
    expect(bothPlots?.series.map(({ label }) => label).slice(0, 2)).toEqual(['South · amount', 'South · pieces']);
  });

  it('is not drawn when a column that the chart names is missing, or no column has numbers', () => {
    for (const terms of [{ x: 'month' }, { y: ['amount', 'profit'] }, { series: 'size' }]) {
      expect(makePlot(SALES_DATA, makeChart(terms))).toBeUndefined();
    }
    expect(
      makePlot(
        makeData(
          [
            ['a', 'text'],
            ['b', 'text'],
          ],
          ['x', 'y'],
        ),
        makeChart({}),
      ),
    ).toBeUndefined();
    expect(makePlot(makeData([['a', 'integer']], [1]), makeChart({ y: ['a'] }))).toBeUndefined();
  });

  it('of a scatter chart leaves out rows without an x', () => {
    const points = makeData(
      [
        ['x', 'integer'],
        ['y', 'integer'],
      ],
      [1, 2],
      [null, 3],
      [4, '5'],
    );
    expect(makeScatterPlot(points, makeChart({ type: 'scatter' }))?.clouds).toEqual([
      {
        label: 'y',
        points: [
          { x: 1, y: 2, dataPoint: { x: 1, y: 2 } },
          { x: 4, y: 5, dataPoint: { x: 4, y: '5' } },
        ],
      },
    ]);
  });

  it('of a pie chart shows the slices of 3 % and more, largest first, and merges the rest', () => {
    const rows = Array.from({ length: 15 }, (_each, at): ViewCell[] => [`n${at}`, at - 2]);
    const plot = makePiePlot(
      makeData(
        [
          ['name', 'text'],
          ['n', 'integer'],
        ],
        ...rows,
      ),
      makeChart({ type: 'pie' }),
    );
    const slices = makeSlices((plot as PiePlot).parts);
    expect(slices).toHaveLength(11);
    expect(slices[0]).toMatchObject({ label: 'n14', value: 12 });
    expect(slices[0]?.getPoint?.()).toEqual({ name: 'n14', n: 12 });
    expect(slices.at(-1)).toMatchObject({ label: 'Other', value: 1 + 2 });
    expect(slices.at(-1)?.parts?.map(({ label }) => label)).toEqual(['n4', 'n3']);
    expect(slices.every(({ value }) => value > 0)).toBe(true);
  });

  it.each([
    [
      [97, 3],
      ['a', 'b'],
    ],
    // One that is small stands for itself.
    [
      [98, 2],
      ['a', 'b'],
    ],
    [
      [95, 3, 2],
      ['a', 'b', 'c'],
    ],
    [
      [94, 2.9, 2.1, 1],
      ['a', 'Other'],
    ],
    [
      [94, 3, 2, 1],
      ['a', 'b', 'Other'],
    ],
    [[0, -1, 5], ['c']],
  ])('of a pie chart merges slices below 3 %%, if there are at least two: %j', (values, labels) => {
    const rows = values.map((value, at): ViewCell[] => ['abcd'[at] ?? '', value]);
    const columns: [string, ViewColumn['type']][] = [
      ['name', 'text'],
      ['n', 'decimal'],
    ];
    const plot = makePiePlot(makeData(columns, ...rows), makeChart({ type: 'pie' }));
    expect(makeSlices((plot as PiePlot).parts).map(({ label }) => label)).toEqual(labels);
  });
});

describe('the slices of a pie chart', () => {
  const pairs = makeData(
    [
      ['part', 'text'],
      ['kind', 'text'],
      ['n', 'integer'],
      ['m', 'integer'],
    ],
    ['a', 's', 10, 1],
    ['a', 't', 20, 2],
    ['b', 's', 30, 3],
    ['a', 't', 2, 4],
  );
  const makePieSlices = (result: ResultData, chart: Partial<ViewChart['chart']>) =>
    makeSlices((makePiePlot(result, makeChart({ type: 'pie', ...chart })) as PiePlot).parts);
  const makeLabelledSlices = (result: ResultData, chart: Partial<ViewChart['chart']>) =>
    makePieSlices(result, chart).map(({ label, value }) => [label, value]);

  it('are one for each label and series, with the sum of their rows', () => {
    const slices = makePieSlices(pairs, { x: 'part', y: ['n'], series: 'kind' });
    expect(slices.map(({ label, value }) => [label, value])).toEqual([
      ['b · s', 30],
      ['a · t', 22],
      ['a · s', 10],
    ]);
    expect(slices[1]?.getPoint?.()).toEqual({ part: 'a', kind: 't', n: 22 });
  });

  it('are no more than the rows, and drawn series no more than 20, where each row has a label and a series of its own', () => {
    const rows = Array.from({ length: 10_000 }, (_each, at): ViewCell[] => [`x${at}`, `s${at}`, 1]);
    const result = makeData(
      [
        ['part', 'text'],
        ['kind', 'text'],
        ['n', 'integer'],
      ],
      ...rows,
    );
    const terms = { x: 'part', y: ['n'], series: 'kind' };
    expect(makePiePlot(result, makeChart({ type: 'pie', ...terms }))?.parts).toHaveLength(10_000);
    const plot = makePlot(result, makeChart(terms));
    expect([plot?.series.length, plot?.seriesCount]).toEqual([20, 10_000]);
  });

  it('are one for each label and y column, and of the first numeric column if the chart has no y column', () => {
    const values = makeData(
      [
        ['part', 'text'],
        ['n', 'integer'],
        ['m', 'integer'],
      ],
      ['a', 10, 1],
      ['b', 20, 2],
    );
    expect(makeLabelledSlices(values, { y: ['n', 'm'] })).toEqual([
      ['b · n', 20],
      ['a · n', 10],
      ['b · m', 2],
      ['a · m', 1],
    ]);
    expect(makeLabelledSlices(values, {})).toEqual([
      ['b', 20],
      ['a', 10],
    ]);
  });

  it('leave out values below 0, and are replaced by a table with a reason if no value is above 0', () => {
    const makeValues = (...values: number[]) =>
      makeData(
        [
          ['part', 'text'],
          ['n', 'integer'],
        ],
        ...values.map((value, at): ViewCell[] => ['abc'[at] ?? '', value]),
      );
    const chart = makeChart({ type: 'pie' });
    expect(makeLabelledSlices(makeValues(40, -30, 0), {})).toEqual([['a', 40]]);
    expect(findChartProblem(makeValues(40, -30, 0), chart)).toBeUndefined();
    for (const values of [[0, 0], [-1]]) expect(findChartProblem(makeValues(...values), chart)).toBe(TEXTS.noParts);
    expect(findChartProblem(makeValues(0), makeChart({ type: 'bar' }))).toBeUndefined();
  });
});

describe('the cells of a table', () => {
  const formatCells = (type: ViewColumn['type'], cells: ViewCell[], name = 'column') =>
    cells.map(makeCellFormat({ name, type }, cells));

  it('are written with all significant digits, and without grouping in a year', () => {
    expect(formatCells('integer', [1234567, '9007199254740993', null])).toEqual([
      '1,234,567',
      '9,007,199,254,740,993',
      '',
    ]);
    expect(formatCells('decimal', [0.000123456, 1234.5678, '0.1'])).toEqual(['0.0001235', '1,234.57', '0.1']);
    expect(formatCells('integer', [2024], 'year')).toEqual(['2024']);
    expect(formatCells('decimal', ['NaN'])).toEqual(['NaN']);
  });

  it('show timestamps in UTC, and show only days if all timestamps are midnights', () => {
    expect(formatCells('datetime', ['2024-03-01T00:00:00Z', null])).toEqual(['Mar 1, 2024', '']);
    expect(formatCells('datetime', ['2024-03-01T23:30:00Z'])[0]).toMatch(/^Mar 1, 2024, 11:30\sPM$/);
  });

  it('show months or years if all dates are first days, in a chart and its table, but not in a table of rows', () => {
    const formatCellsFor = (type: ViewChart['chart']['type'], cells: ViewCell[]) => {
      const rows = cells.map((cell) => [cell]);
      const [formatCell] = makeColumnFormats(makeData([['day', 'date']], ...rows), makeChart({ type }));
      return cells.map(formatCell ?? String);
    };
    const cases: [days: string[], drawn: string[], inRows: string[]][] = [
      [
        ['2023-01-01', '2024-01-01'],
        ['2023', '2024'],
        ['Jan 1, 2023', 'Jan 1, 2024'],
      ],
      [
        ['2023-01-01', '2023-02-01'],
        ['Jan 2023', 'Feb 2023'],
        ['Jan 1, 2023', 'Feb 1, 2023'],
      ],
      [
        ['2023-01-01', '2023-02-02'],
        ['Jan 1, 2023', 'Feb 2, 2023'],
        ['Jan 1, 2023', 'Feb 2, 2023'],
      ],
    ];
    for (const [days, drawn, inRows] of cases) {
      expect(days.map(makePeriodFormat({ name: 'day', type: 'date' }, days))).toEqual(drawn);
      expect(formatCellsFor('bar', days)).toEqual(drawn);
      expect(formatCellsFor('table', days)).toEqual(inRows);
    }
    // Series are as the axis is.
    const yearlyData = makeData(
      [
        ['kind', 'text'],
        ['year', 'date'],
        ['n', 'integer'],
      ],
      ['a', '2023-01-01', 1],
      ['a', '2024-01-01', 2],
    );
    expect(makePlot(yearlyData, makeChart({ x: 'kind', series: 'year' }))?.series.map(({ label }) => label)).toEqual([
      '2023',
      '2024',
    ]);
  });

  it('follow the style of the chart where it fits the values', () => {
    const formatWithOptions = (options: Record<string, unknown>, value = 1234.5) =>
      formatNumber(value, parseNumberStyle(options));
    expect(formatWithOptions({ format: 'currency', currency: 'USD' })).toBe('$1,234.50');
    expect(formatWithOptions({ format: 'percent' }, 0.1234)).toBe('12.3%');
    expect(formatWithOptions({ decimals: 3, prefix: '≈', suffix: ' kg' })).toBe('≈1,234.500 kg');
    for (const invalidStyle of [
      { format: 'currency', currency: 'dollars' },
      { decimals: 1e9, format: {} },
      { decimals: -3.5 },
    ]) {
      expect(formatWithOptions(invalidStyle)).toMatch(/^1,234\.50*$/);
    }
  });
});
