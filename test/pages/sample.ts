import type { TokenView, ViewChart, ViewFilter, ViewResult, ViewSubject } from '../../src/kernel/viewing.ts';

/** A dashboard with every kind of chart and every kind of filter. */

const chart = (id: string, name: string, terms: Partial<ViewChart['chart']>, description = ''): ViewChart => ({
  visualization_id: id,
  name,
  description,
  chart: { type: 'table', x: null, y: [], series: null, options: {}, ...terms },
});

const filter = (slug: string, label: string, kind: ViewFilter['kind'], more: Partial<ViewFilter> = {}): ViewFilter => ({
  slug,
  label,
  kind,
  default: null,
  required: false,
  ...more,
});

export const FILTERS = [
  filter('state', 'State', 'multi_select'),
  filter('phase', 'Phase of flight', 'select'),
  filter('period', 'Period', 'date_range'),
  filter('aircraft', 'Aircraft', 'text'),
  filter('cost', 'Lowest cost', 'number'),
  filter('since', 'Reported since', 'date'),
];

const CHARTS = [
  chart('n1', 'Strikes', { type: 'number', y: ['strikes'] }),
  chart('n2', 'Cost', { type: 'number', y: ['cost'], options: { format: 'currency', currency: 'USD', decimals: 0 } }),
  chart(
    'line',
    'Strikes by month',
    { type: 'line', x: 'month', y: ['strikes'], series: 'size' },
    'Reported to the authority',
  ),
  chart('bar', 'Strikes by state', { type: 'bar', x: 'state', y: ['strikes'] }),
  chart('area', 'Cost by month', {
    type: 'area',
    x: 'month',
    y: ['cost'],
    options: { stacked: true, y_label: 'US dollars' },
  }),
  chart('pie', 'Phase of flight', { type: 'pie', x: 'phase', y: ['strikes'] }),
  chart('scatter', 'Speed and height', { type: 'scatter', x: 'speed', y: ['height'], series: 'size' }),
  chart('table', 'Reports', { type: 'table' }),
];

const PLACES = [
  ['n1', 0, 0, 3, 2],
  ['n2', 0, 2, 3, 2],
  ['line', 3, 0, 9, 4],
  ['bar', 0, 4, 6, 4],
  ['area', 6, 4, 6, 4],
  ['pie', 0, 8, 4, 4],
  ['scatter', 4, 8, 8, 4],
  ['table', 0, 12, 12, 5],
] as const;

export const SUBJECT: ViewSubject = {
  id: '0123456789abcdef01234567',
  name: 'Bird strikes',
  slug: 'bird-strikes',
  description: 'Where, when and how birds met aircraft.',
  layout: PLACES.map(([visualization_id, x, y, w, h]) => ({ visualization_id, x, y, w, h })),
  filters: FILTERS,
  charts: CHARTS,
};

export const viewOf = (subject: Partial<ViewSubject> = {}, embed_options = {}): TokenView => ({
  requires_auth: false,
  dashboard: { ...SUBJECT, ...subject },
  embed_options,
  expires_at: null,
});

const MONTHS = Array.from(
  { length: 24 },
  (_each, at) => `${2022 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}-01`,
);
const SIZES = ['Small', 'Medium', 'Large'];
const STATES = ['Texas', 'California', 'Florida', 'New York', 'Colorado', 'Illinois', 'Ohio', 'Georgia'];
const PHASES = ['Approach', 'Landing roll', 'Take-off run', 'Climb', 'Descent', 'Taxi', 'En route'];

/** Numbers that look like data and are the same each time. */
const wave = (at: number, height: number): number =>
  Math.round(height * (1 + Math.sin(at / 3) / 2 + ((at * 7919) % 97) / 300));

const integer = (name: string) => ({ name, type: 'integer' as const });
const text = (name: string) => ({ name, type: 'text' as const });
const result = (
  visualization_id: string,
  columns: ViewResult['columns'],
  rows: ViewResult['rows'] = [],
): ViewResult => ({
  visualization_id,
  columns,
  rows,
  row_count: rows.length,
  truncated: false,
});

export const RESULTS: ViewResult[] = [
  result('n1', [integer('strikes')], [[10_000]]),
  result('n2', [{ name: 'cost', type: 'decimal' }], [['68204317.25']]),
  result(
    'line',
    [{ name: 'month', type: 'date' }, text('size'), integer('strikes')],
    MONTHS.flatMap((month, at) => SIZES.map((size, row) => [month, size, wave(at + row * 5, 400 / (row + 1))])),
  ),
  result(
    'bar',
    [text('state'), integer('strikes')],
    STATES.map((state, at) => [state, wave(at, 900 - at * 90)]),
  ),
  result(
    'area',
    [
      { name: 'month', type: 'date' },
      { name: 'cost', type: 'decimal' },
    ],
    MONTHS.map((month, at) => [month, wave(at, 2_400_000)]),
  ),
  result(
    'pie',
    [text('phase'), integer('strikes')],
    PHASES.map((phase, at) => [phase, wave(at, 1000 / (at + 1))]),
  ),
  result(
    'scatter',
    [integer('speed'), integer('height'), text('size')],
    Array.from({ length: 150 }, (_each, at) => [
      60 + ((at * 37) % 200),
      wave(at, 40 + ((at * 53) % 900)),
      SIZES[at % 3] ?? null,
    ]),
  ),
  result(
    'table',
    [
      integer('year'),
      text('state'),
      text('phase'),
      { name: 'reported_at', type: 'datetime' },
      { name: 'cost', type: 'decimal' },
      { name: 'injured', type: 'boolean' },
    ],
    Array.from({ length: 250 }, (_each, at) => [
      2022 + (at % 2),
      STATES[at % STATES.length] ?? null,
      PHASES[at % PHASES.length] ?? null,
      `2023-0${(at % 9) + 1}-11T0${at % 10}:30:00Z`,
      at % 11 === 0 ? null : (at * 48_731) % 250_000,
      at % 5 === 0,
    ]),
  ),
];

/** The options of a filter, as a search finds them. */
export const optionsOf = (slug: string, search: string): { label: string; value: string }[] =>
  (({ state: STATES, phase: PHASES })[slug] ?? [])
    .filter((name) => name.toLowerCase().includes(search.toLowerCase()))
    .map((name) => ({ label: name, value: name.slice(0, 2).toUpperCase() }));
