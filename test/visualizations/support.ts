import { column, createTable, makeTableRoutes } from '../managed-tables/support.ts';
import type { Caller } from '../support/api.ts';
import type { Company } from '../support/worlds.ts';

export const VISUALIZATIONS_PATH = '/v1/visualizations';
export const DASHBOARDS_PATH = '/v1/dashboards';

/** Makes a visualization and answers its record. */
export async function aVisualization(as: Caller, sql: string, more: Record<string, unknown> = {}) {
  const { status, body } = await as.post(VISUALIZATIONS_PATH, { json: { name: 'Sales', sql, ...more } });
  if (status !== 201) throw new Error(`Creating a visualization answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Makes a dashboard of these visualizations and answers its record. */
export async function aDashboard(as: Caller, visualizations: { _id: string }[], more: Record<string, unknown> = {}) {
  const layout = visualizations.map(({ _id }, index) => ({ visualization_id: _id, x: 0, y: index, w: 4, h: 3 }));
  const { status, body } = await as.post(DASHBOARDS_PATH, { json: { name: 'Overview', layout, ...more } });
  if (status !== 201) throw new Error(`Creating a dashboard answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export const parameter = (slug: string, kind: string, more: Record<string, unknown> = {}) => ({
  slug,
  label: slug,
  kind,
  ...more,
});

/** A table `sales` (region, amount, day) with six rows: regions north, south and east. */
export async function someSales({ as }: Company): Promise<string> {
  const id = await createTable(as, 'sales', [column('region'), column('amount', 'decimal'), column('day', 'date')]);
  const rows = ['north', 'north', 'south', 'south', 'south', 'east'].map((region, index) => ({
    region,
    amount: (index + 1) * 10,
    day: `2024-01-0${index + 1}`,
  }));
  const { status } = await makeTableRoutes(as, id).insert(rows);
  if (status !== 201) throw new Error(`Inserting rows answered ${status}`);
  return id;
}
