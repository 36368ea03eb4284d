import type { Chart, Filter } from './demo-company.ts';

/** The filters and charts of a dashboard on the demo's data, with every kind of chart and every kind of filter. */

export const FILTERS = [
  {
    slug: 'state',
    label: 'State',
    kind: 'multi_select',
    options: { sql: 'SELECT DISTINCT origin_state FROM birdstrikes ORDER BY 1' },
  },
  {
    slug: 'phase',
    label: 'Phase of flight',
    kind: 'select',
    // Bound to the states that a viewer is held to: otherwise it would be closed to them.
    options: {
      sql: 'SELECT DISTINCT phase_of_flight FROM birdstrikes WHERE true [[AND origin_state = ANY({{state}})]] ORDER BY 1',
    },
  },
  { slug: 'period', label: 'Period', kind: 'date_range' },
  { slug: 'aircraft', label: 'Aircraft', kind: 'text' },
  { slug: 'cost', label: 'Lowest cost', kind: 'number' },
  { slug: 'since', label: 'Reported since', kind: 'date' },
] satisfies Filter[];

/** Returns a query on the table that all the filters narrow. */
export const makeFilteredSql = (columns: string, sqlEnd = '') => `SELECT ${columns}
FROM birdstrikes
WHERE true
  [[AND origin_state = ANY({{state}})]]
  [[AND phase_of_flight = {{phase}}]]
  [[AND flight_date >= {{period.from}}]] [[AND flight_date <= {{period.to}}]]
  [[AND aircraft_make_model = {{aircraft}}]]
  [[AND cost_total >= {{cost}}]]
  [[AND flight_date >= {{since}}]]
${sqlEnd}`;

export const STRIKES: Chart = {
  name: 'Strikes',
  sql: makeFilteredSql('count(*) AS strikes'),
  chart: { type: 'number', y: ['strikes'] },
  place: [0, 0, 3, 2],
};

export const CHARTS: Chart[] = [
  STRIKES,
  {
    name: 'Cost',
    sql: makeFilteredSql('sum(cost_total) AS cost'),
    chart: { type: 'number', y: ['cost'], options: { format: 'currency', currency: 'USD', decimals: 0 } },
    place: [0, 2, 3, 2],
  },
  {
    name: 'Strikes by year',
    description: 'Reported to the authority',
    sql: makeFilteredSql(
      "date_trunc('year', flight_date)::date AS year, wildlife_size, count(*) AS strikes",
      'GROUP BY 1, 2 ORDER BY 1, 2',
    ),
    chart: { type: 'line', x: 'year', y: ['strikes'], series: 'wildlife_size' },
    place: [3, 0, 9, 4],
  },
  {
    name: 'Strikes by state',
    sql: makeFilteredSql('origin_state AS state, count(*) AS strikes', 'GROUP BY 1 ORDER BY 2 DESC LIMIT 8'),
    chart: { type: 'bar', x: 'state', y: ['strikes'] },
    place: [0, 4, 6, 4],
  },
  {
    name: 'Cost by year',
    sql: makeFilteredSql(
      "date_trunc('year', flight_date)::date AS year, sum(cost_total) AS cost",
      'GROUP BY 1 ORDER BY 1',
    ),
    chart: { type: 'area', x: 'year', y: ['cost'], options: { stacked: true, y_label: 'US dollars' } },
    place: [6, 4, 6, 4],
  },
  {
    name: 'Phases of flight',
    sql: makeFilteredSql('phase_of_flight AS phase, count(*) AS strikes', 'GROUP BY 1 ORDER BY 2 DESC'),
    chart: { type: 'pie', x: 'phase', y: ['strikes'] },
    place: [0, 8, 4, 4],
  },
  {
    name: 'Speed and cost',
    sql: makeFilteredSql(
      'speed_ias_in_knots AS speed, cost_total AS cost, wildlife_size AS size',
      'AND speed_ias_in_knots IS NOT NULL AND cost_total > 0 ORDER BY 1',
    ),
    chart: { type: 'scatter', x: 'speed', y: ['cost'], series: 'size' },
    place: [4, 8, 8, 4],
  },
  {
    name: 'Reports',
    sql: makeFilteredSql(
      'extract(year FROM flight_date)::int AS year, origin_state AS state, flight_date, cost_total AS cost, cost_total > 0 AS costly',
      'ORDER BY cost_total DESC, flight_date, state LIMIT 250',
    ),
    chart: { type: 'table' },
    place: [0, 12, 12, 5],
  },
];
