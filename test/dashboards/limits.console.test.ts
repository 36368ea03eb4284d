import { describe, expect, it } from 'vitest';
import { listDashboardInputs } from '../../src/modules/dashboards/service.ts';
import { getTemplate } from '../../src/sql-templates/template.ts';
import { createOwnedCompany } from '../support/companies.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const company = await createOwnedCompany();

const makeLayout = (ids: string[]) => ids.map((id, y) => ({ visualization_id: id, x: 0, y, w: 4, h: 3 }));
const makeLongSql = (length: number) => `SELECT '${'x'.repeat(length - 9)}'`;
/** Creates visualizations with SQL of 20,000 characters; 20 of them reach the limit of a dashboard. */
const createLongVisualizations = (count: number) =>
  Promise.all(Array.from({ length: count }, () => postVisualization(company.as, makeLongSql(19_998))));
const readInvalidField = ({ status, body }: { status: number; body: { details?: { field: string }[] } }) => [
  status,
  body.details?.[0]?.field,
];

describe('the size of a dashboard', () => {
  it('is limited when the dashboard is written', async () => {
    const longVisualizations = await createLongVisualizations(21);
    const ids = longVisualizations.map(({ _id }) => _id);
    const createDashboard = (layout: unknown) => company.as.post(DASHBOARDS_PATH, { json: { name: 'Long', layout } });
    expect((await createDashboard(makeLayout(ids.slice(0, 20)))).status).toBe(201);
    expect(readInvalidField(await createDashboard(makeLayout(ids)))).toEqual([422, 'layout']);
    const options = Array.from({ length: 6 }, (_, n) => ({
      ...makeParameter(`f${n}`, 'select'),
      options: { sql: makeLongSql(19_000) },
    }));
    const filters = (count: number) =>
      company.as.post(DASHBOARDS_PATH, { json: { name: 'Options', filters: options.slice(0, count) } });
    expect((await filters(5)).status).toBe(201);
    expect(readInvalidField(await filters(6))).toEqual([422, 'filters']);
  });

  it('is limited when a visualization on it grows', async () => {
    const longVisualizations = await createLongVisualizations(19);
    const shortVisualization = await postVisualization(company.as, 'SELECT 1');
    await postDashboard(company.as, [
      ...longVisualizations,
      shortVisualization,
      await postVisualization(company.as, makeLongSql(10_000)),
    ]);
    const changeVisualization = (json: unknown) =>
      company.as.put(`${VISUALIZATIONS_PATH}/${shortVisualization._id}`, { json });
    expect((await changeVisualization({ sql: makeLongSql(9_000) })).status).toBe(200);
    expect(readInvalidField(await changeVisualization({ sql: makeLongSql(15_000) }))).toEqual([422, 'sql']);
    expect((await changeVisualization({ name: 'Renamed' })).status).toBe(200);
  });

  it('is limited by the number of parameter uses in a visualization', async () => {
    const createVisualization = (useCount: number) =>
      company.as.post(VISUALIZATIONS_PATH, {
        json: { name: 'Uses', sql: `SELECT ${'{{a}},'.repeat(useCount)} 1`, parameters: [makeParameter('a', 'text')] },
      });
    expect((await createVisualization(250)).status).toBe(201);
    expect(readInvalidField(await createVisualization(251))).toEqual([422, 'sql']);
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
    const filters = parameters.map((parameter) => ({ ...parameter, options: null, applies_to: null }));
    const first = visualizations.map(({ sql: text }) => getTemplate(text));
    for (let request = 0; request < 20; request++) listDashboardInputs({ filters }, visualizations);
    // The very same templates, and not others that are equal.
    for (const [at, { sql: text }] of visualizations.entries()) expect(getTemplate(text)).toBe(first[at]);
  });
});
