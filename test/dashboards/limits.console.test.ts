import { beforeAll, describe, expect, it } from 'vitest';
import { listDashboardInputs } from '../../src/modules/dashboards/service.ts';
import { getTemplate } from '../../src/sql-templates/template.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const place = (ids: string[]) => ids.map((id, y) => ({ visualization_id: id, x: 0, y, w: 4, h: 3 }));
const long = (length: number) => `SELECT '${'x'.repeat(length - 9)}'`;
/** Visualizations of 20,000 characters each, 20 of which fill a dashboard. */
const someLong = (count: number) =>
  Promise.all(Array.from({ length: count }, () => aVisualization(company.as, long(19_998))));
const fieldOf = ({ status, body }: { status: number; body: { details?: { field: string }[] } }) => [
  status,
  body.details?.[0]?.field,
];

describe('the size of a dashboard', () => {
  it('is limited when the dashboard is written', async () => {
    const made = await someLong(21);
    const ids = made.map(({ _id }) => _id);
    const create = (layout: unknown) => company.as.post(DASHBOARDS_PATH, { json: { name: 'Long', layout } });
    expect((await create(place(ids.slice(0, 20)))).status).toBe(201);
    expect(fieldOf(await create(place(ids)))).toEqual([422, 'layout']);
    const options = Array.from({ length: 6 }, (_, n) => ({
      ...parameter(`f${n}`, 'select'),
      options: { sql: long(19_000) },
    }));
    const filters = (count: number) =>
      company.as.post(DASHBOARDS_PATH, { json: { name: 'Options', filters: options.slice(0, count) } });
    expect((await filters(5)).status).toBe(201);
    expect(fieldOf(await filters(6))).toEqual([422, 'filters']);
  });

  it('is limited when a visualization on it grows', async () => {
    const full = await someLong(19);
    const short = await aVisualization(company.as, 'SELECT 1');
    await aDashboard(company.as, [...full, short, await aVisualization(company.as, long(10_000))]);
    const grow = (json: unknown) => company.as.put(`${VISUALIZATIONS_PATH}/${short._id}`, { json });
    expect((await grow({ sql: long(9_000) })).status).toBe(200);
    expect(fieldOf(await grow({ sql: long(15_000) }))).toEqual([422, 'sql']);
    expect((await grow({ name: 'Renamed' })).status).toBe(200);
  });

  it('is limited by the number of parameter uses in a visualization', async () => {
    const create = (uses: number) =>
      company.as.post(VISUALIZATIONS_PATH, {
        json: { name: 'Uses', sql: `SELECT ${'{{a}},'.repeat(uses)} 1`, parameters: [parameter('a', 'text')] },
      });
    expect((await create(250)).status).toBe(201);
    expect(fieldOf(await create(251))).toEqual([422, 'sql']);
  });
});

describe('an SQL template', () => {
  it('is parsed once, however many filters and requests there are', () => {
    const sql = `SELECT ${'a '.repeat(9_900)} WHERE a = ANY({{f0}})`;
    const names = Array.from({ length: 50 }, (_, n) => `f${n}`);
    const parameters = names.map((slug) => ({
      slug,
      label: slug,
      kind: 'select' as const,
      default: null,
      required: false,
    }));
    const visualizations = Array.from({ length: 20 }, (_, n) => ({ id: `v${n}`, sql: `${sql} -- ${n}`, parameters }));
    const filters = parameters.map((each) => ({ ...each, options: null, applies_to: null }));
    const first = visualizations.map(({ sql: text }) => getTemplate(text));
    for (let request = 0; request < 20; request++) listDashboardInputs({ filters }, visualizations);
    // The very same templates, and not others that are equal.
    for (const [at, { sql: text }] of visualizations.entries()) expect(getTemplate(text)).toBe(first[at]);
  });
});
