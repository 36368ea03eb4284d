/** The charts of the demo's dashboard: reported collisions of aircraft with wildlife. */

import type { Chart, Filter, Parameter } from '../client/client.ts';

/** Filters of the demo's charts. Each is an optional clause in the SQL: without a value it does not filter. */
export const PARAMETERS: Parameter[] = [
  { slug: 'state', label: 'State', kind: 'multi_select' },
  { slug: 'size', label: 'Size of the animal', kind: 'select' },
  { slug: 'period', label: 'Date of flight', kind: 'date_range' },
];

const FILTER_CLAUSES = `
  [[AND origin_state = ANY({{state}})]]
  [[AND wildlife_size = {{size}}]]
  [[AND flight_date >= {{period.from}}]]
  [[AND flight_date <= {{period.to}}]]`;

const FILTERED_STRIKES = `FROM birdstrikes\nWHERE true${FILTER_CLAUSES}`;

/** SQL of the strikes by month; months without a strike are listed with 0. */
const STRIKES_BY_MONTH = `SELECT month::date AS month, times.time_of_day, count(flight_date) AS strikes
FROM generate_series((SELECT date_trunc('month', min(flight_date)) FROM birdstrikes),
  (SELECT max(flight_date) FROM birdstrikes), interval '1 month') AS month
CROSS JOIN (VALUES (1, 'Day'), (2, 'Night'), (3, 'Dusk'), (4, 'Dawn')) AS times (place, time_of_day)
LEFT JOIN birdstrikes ON date_trunc('month', flight_date) = month
  AND birdstrikes.time_of_day = times.time_of_day${FILTER_CLAUSES}
WHERE true
  [[AND month >= date_trunc('month', {{period.from}})]]
  [[AND month <= {{period.to}}]]
GROUP BY month, times.place, times.time_of_day
ORDER BY times.place, month`;

interface DemoChart {
  slug: string;
  name: string;
  description?: string;
  sql: string;
  chart: Chart;
  /** Position on a grid of twelve columns. */
  gridPosition: { x: number; y: number; w: number; h: number };
}

/** Slug of the chart that is also shared by itself. */
export const SINGLE_CHART_SLUG = 'strikes-by-month';

export const CHARTS: DemoChart[] = [
  {
    slug: 'reported-strikes',
    name: 'Reported strikes',
    sql: `SELECT count(*) AS strikes\n${FILTERED_STRIKES}`,
    chart: { type: 'number', y: ['strikes'] },
    gridPosition: { x: 0, y: 0, w: 4, h: 2 },
  },
  {
    slug: 'share-with-damage',
    name: 'With damage',
    sql: `SELECT avg((effect_amount_of_damage <> 'None')::int) AS share\n${FILTERED_STRIKES}`,
    chart: { type: 'number', y: ['share'], options: { format: 'percent', decimals: 1 } },
    gridPosition: { x: 4, y: 0, w: 4, h: 2 },
  },
  {
    slug: 'total-cost',
    name: 'Total cost',
    sql: `SELECT sum(cost_total) AS cost\n${FILTERED_STRIKES}`,
    chart: { type: 'number', y: ['cost'], options: { format: 'currency', currency: 'USD', decimals: 0 } },
    gridPosition: { x: 8, y: 0, w: 4, h: 2 },
  },
  {
    slug: SINGLE_CHART_SLUG,
    name: 'Strikes by month',
    description: 'By the time of day at which they happened.',
    sql: STRIKES_BY_MONTH,
    chart: { type: 'line', x: 'month', y: ['strikes'], series: 'time_of_day' },
    gridPosition: { x: 0, y: 2, w: 12, h: 4 },
  },
  {
    slug: 'airports-with-the-most-strikes',
    name: 'Airports with the most strikes',
    sql: `SELECT airport_name AS airport, count(*) AS "Strikes"\n${FILTERED_STRIKES}\nGROUP BY airport\nORDER BY 2 DESC, airport\nLIMIT 10`,
    chart: { type: 'bar', x: 'airport', y: ['Strikes'], options: { horizontal: true } },
    gridPosition: { x: 0, y: 6, w: 7, h: 5 },
  },
  {
    slug: 'phase-of-flight',
    name: 'Phase of flight',
    sql: `SELECT phase_of_flight AS phase, count(*) AS "Strikes"\n${FILTERED_STRIKES}\nGROUP BY phase\nORDER BY 2 DESC, phase`,
    chart: { type: 'pie', x: 'phase', y: ['Strikes'] },
    gridPosition: { x: 7, y: 6, w: 5, h: 5 },
  },
  {
    slug: 'species',
    name: 'Species',
    description: 'The costliest first.',
    sql: `SELECT wildlife_species AS "Species", count(*) AS "Strikes",\n  count(*) FILTER (WHERE effect_amount_of_damage <> 'None') AS "With damage", sum(cost_total) AS "Cost in US dollars"\n${FILTERED_STRIKES}\nGROUP BY 1\nORDER BY 4 DESC, 1`,
    chart: { type: 'table' },
    gridPosition: { x: 0, y: 11, w: 12, h: 5 },
  },
];

export const DASHBOARD = {
  slug: 'bird-strikes',
  name: 'Bird strikes',
  description: 'Where, when and in which phase of flight aircraft met wildlife, and what it cost.',
};

/** Sources of the filters' options, by the filter's slug. */
export const FILTER_OPTIONS: Partial<Record<string, Filter['options']>> = {
  state: { sql: 'SELECT DISTINCT origin_state FROM birdstrikes ORDER BY 1' },
  size: ['Small', 'Medium', 'Large'].map((size) => ({ label: size, value: size })),
};
