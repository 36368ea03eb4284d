import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import type { Company } from '../support/companies.ts';

export const VISUALIZATIONS_PATH = '/v1/visualizations';
export const DASHBOARDS_PATH = '/v1/dashboards';

/** Creates a visualization. @returns its record */
export async function postVisualization(as: Caller, sql: string, otherFields: Record<string, unknown> = {}) {
  const { status, body } = await as.post(VISUALIZATIONS_PATH, { json: { name: 'Sales', sql, ...otherFields } });
  if (status !== 201) throw new Error(`Creating a visualization answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Creates a dashboard of these visualizations. @returns its record */
export async function postDashboard(
  as: Caller,
  visualizations: { _id: string }[],
  otherFields: Record<string, unknown> = {},
) {
  const layout = visualizations.map(({ _id }, index) => ({ visualization_id: _id, x: 0, y: index, w: 4, h: 3 }));
  const { status, body } = await as.post(DASHBOARDS_PATH, { json: { name: 'Overview', layout, ...otherFields } });
  if (status !== 201) throw new Error(`Creating a dashboard answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export const makeParameter = (slug: string, kind: string, otherFields: Record<string, unknown> = {}) => ({
  slug,
  label: slug,
  kind,
  ...otherFields,
});

/** Creates a table `sales` (region, amount, day) with six rows: regions north, south and east. @returns its id */
export async function createSalesTable({ as }: Company): Promise<string> {
  const id = await createTable(as, 'sales', [
    makeColumn('region'),
    makeColumn('amount', 'decimal'),
    makeColumn('day', 'date'),
  ]);
  const rows = ['north', 'north', 'south', 'south', 'south', 'east'].map((region, index) => ({
    region,
    amount: (index + 1) * 10,
    day: `2024-01-0${index + 1}`,
  }));
  const { status } = await createTableClient(as, id).insert(rows);
  if (status !== 201) throw new Error(`Inserting rows answered ${status}`);
  return id;
}
