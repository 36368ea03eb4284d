import { beforeAll, describe, expect, it } from 'vitest';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter, VISUALIZATIONS_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const create = (json: unknown) => company.as.post(VISUALIZATIONS_PATH, { json });

describe('a visualization', () => {
  it('is created with the fields that are sent, and with defaults for the rest', async () => {
    const definition = {
      name: 'Sales by region',
      slug: 'by-region',
      description: 'What sells where.',
      sql: 'SELECT region, sum(amount) FROM sales WHERE true [[AND region = ANY({{regions}})]] GROUP BY 1',
      chart: { type: 'bar', x: 'region', y: ['sum'], series: null, options: { stacked: true } },
      parameters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['north'], required: true }],
    };
    const { status, body } = await create(definition);
    expect([status, body]).toEqual([
      201,
      {
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        ...definition,
        created_by_user_id: company.owner.id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await company.as.get(`${VISUALIZATIONS_PATH}/${body._id}`)).body).toEqual(body);
    const bare = await create({ name: 'Sólo: 1 ação!', sql: 'SELECT 1' });
    expect(bare.body).toMatchObject({
      slug: 'solo-1-acao',
      description: '',
      chart: { type: 'table', x: null, y: [], series: null, options: {} },
      parameters: [],
    });
  });

  it('gets a free slug when none is sent, and is refused with a taken one', async () => {
    const first = await aVisualization(company.as, 'SELECT 1', { name: 'Same name' });
    const second = await aVisualization(company.as, 'SELECT 1', { name: 'Same name' });
    expect(first.slug).toBe('same-name');
    expect(second.slug).toMatch(/^same-name-[a-f0-9]{8}$/);
    const taken = await create({ name: 'Other', slug: 'same-name', sql: 'SELECT 1' });
    expect([taken.status, taken.body.error]).toEqual([409, 'VISUALIZATION_SLUG_DUPLICATE']);
    const renamed = await company.as.put(`${VISUALIZATIONS_PATH}/${second._id}`, { json: { slug: 'same-name' } });
    expect([renamed.status, renamed.body.error]).toEqual([409, 'VISUALIZATION_SLUG_DUPLICATE']);
    const elsewhere = await aCompany();
    expect((await aVisualization(elsewhere.as, 'SELECT 1', { slug: 'same-name' })).slug).toBe('same-name');
  });

  it.each([
    [{ sql: 'SELECT 1' }, 'name'],
    [{ name: 'a' }, 'sql'],
    [{ name: 'a', sql: '' }, 'sql'],
    [{ name: 'a', sql: 'SELECT \0' }, 'sql'],
    [{ name: 'a', sql: 'x'.repeat(20_001) }, 'sql'],
    [{ name: 'a', sql: 'SELECT {{region}}' }, 'sql'],
    [{ name: 'a', sql: 'SELECT [[ 1' }, 'sql'],
    [{ name: 'a', sql: 'SELECT $1' }, 'sql'],
    [{ name: 'a', sql: 'SELECT {{p}}', parameters: [parameter('p', 'date_range')] }, 'sql'],
    [{ name: 'a', sql: 'SELECT {{p.from}}', parameters: [parameter('p', 'date')] }, 'sql'],
    [{ name: 'a', sql: 'SELECT 1', slug: 'Not a slug' }, 'slug'],
    [{ name: 'a', sql: 'SELECT 1', chart: { type: 'radar' } }, 'chart.type'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [parameter('P', 'text')] }, 'parameters.0.slug'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [parameter('p', 'list')] }, 'parameters.0.kind'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [parameter('p', 'text'), parameter('p', 'text')] }, 'parameters.1.slug'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [parameter('p', 'number', { default: 'x' })] }, 'parameters.0.default'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [parameter('p', 'text', { default: [[[]]] })] }, 'parameters.0.default'],
    [
      { name: 'a', sql: 'SELECT 1', parameters: Array.from({ length: 51 }, (_, n) => parameter(`p${n}`, 'text')) },
      'parameters',
    ],
  ])('is refused with %j', async (json, field) => {
    const { status, body } = await create(json);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it('is changed only in the fields that are sent, and stays valid', async () => {
    const made = await aVisualization(company.as, 'SELECT {{n}}', { parameters: [parameter('n', 'number')] });
    const path = `${VISUALIZATIONS_PATH}/${made._id}`;
    const { status, body } = await company.as.put(path, { json: { name: 'Renamed' } });
    expect([status, body]).toEqual([200, { ...made, name: 'Renamed', updated_at: expect.any(String) }]);
    const unsound = await company.as.put(path, { json: { parameters: [] } });
    expect([unsound.status, unsound.body.details[0].field]).toEqual([422, 'sql']);
    expect((await company.as.get(path)).body.parameters).toHaveLength(1);
  });

  it('stays valid when its SQL is changed at the same moment as its parameters are removed', async () => {
    const made = await aVisualization(company.as, 'SELECT 1', { parameters: [parameter('n', 'number')] });
    const path = `${VISUALIZATIONS_PATH}/${made._id}`;
    const late = await sendOvertaken(
      /^update "visualizations"/,
      () => must(company.as.put(path, { json: { parameters: [] } })),
      (env) => company.as.put(path, { json: { sql: 'SELECT {{n}}' }, env }),
    );
    expect([late.status, late.body.details[0].field]).toEqual([422, 'sql']);
    expect((await company.as.get(path)).body).toMatchObject({ sql: 'SELECT 1', parameters: [] });
  });

  it.each([
    [4, 200, 'Late'],
    [5, 409, 'Changed 5 times'],
  ])('answers a change after %i other changes at the same moment with %i', async (times, status, name) => {
    const path = `${VISUALIZATIONS_PATH}/${(await aVisualization(company.as, 'SELECT 1'))._id}`;
    let changed = 0;
    const late = await sendOvertaken(
      /^update "visualizations"/,
      () => must(company.as.put(path, { json: { name: `Changed ${++changed} times` } })),
      (env) => company.as.put(path, { json: { name: 'Late' }, env }),
      times,
    );
    expect([late.status, late.body.error]).toEqual([status, status === 409 ? 'CONFLICT' : undefined]);
    expect((await company.as.get(path)).body.name).toBe(name);
  });

  it('is deleted once, but not while it stands on a dashboard', async () => {
    const made = await aVisualization(company.as, 'SELECT 1');
    const path = `${VISUALIZATIONS_PATH}/${made._id}`;
    const dashboard = await aDashboard(company.as, [made]);
    const inUse = await company.as.delete(path);
    expect([inUse.status, inUse.body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    await company.as.put(`/v1/dashboards/${dashboard._id}`, { json: { layout: [] } });
    expect((await company.as.delete(path)).status).toBe(204);
    const again = await company.as.delete(path);
    expect([again.status, again.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
    expect((await company.as.get(path)).status).toBe(404);
  });

  it('is listed newest first, in pages and by a literal part of its name', async () => {
    const own = await aCompany();
    for (const name of ['A 100% one', 'B', 'C 100% two']) await aVisualization(own.as, 'SELECT 1', { name });
    const { body } = await own.as.get(`${VISUALIZATIONS_PATH}?per_page=2`);
    expect([body.total, body.quantity, body.records.map((each: { name: string }) => each.name)]).toEqual([
      3,
      2,
      ['C 100% two', 'B'],
    ]);
    expect((await own.as.get(`${VISUALIZATIONS_PATH}?search=100%25%20T`)).body.total).toBe(1);
    for (const query of ['per_page=0', 'per_page=101', 'page=x']) {
      expect((await own.as.get(`${VISUALIZATIONS_PATH}?${query}`)).status).toBe(422);
    }
  });
});
