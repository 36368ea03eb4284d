import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makeParameter, postDashboard, postVisualization, VISUALIZATIONS_PATH } from './support.ts';

const company = await createOwnedCompany();

const createDefinition = (json: unknown) => company.as.post(VISUALIZATIONS_PATH, { json });

describe('a visualization', () => {
  it('is created with the fields that are sent, and with defaults for all other fields', async () => {
    const definition = {
      name: 'Sales by region',
      slug: 'by-region',
      description: 'What sells where.',
      sql: 'SELECT region, sum(amount) FROM sales WHERE true [[AND region = ANY({{regions}})]] GROUP BY 1',
      chart: { type: 'bar', x: 'region', y: ['sum'], series: null, options: { stacked: true } },
      parameters: [{ slug: 'regions', label: 'Regions', kind: 'multi_select', default: ['north'], required: true }],
    };
    const { status, body } = await createDefinition(definition);
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
    const minimalDefinition = await createDefinition({ name: 'Sólo: 1 ação!', sql: 'SELECT 1' });
    expect(minimalDefinition.body).toMatchObject({
      slug: 'solo-1-acao',
      description: '',
      chart: { type: 'table', x: null, y: [], series: null, options: {} },
      parameters: [],
    });
  });

  it('gets a free slug when none is sent, and is refused with a slug that is taken', async () => {
    const first = await postVisualization(company.as, 'SELECT 1', { name: 'Same name' });
    const secondChart = await postVisualization(company.as, 'SELECT 1', { name: 'Same name' });
    expect(first.slug).toBe('same-name');
    expect(secondChart.slug).toMatch(/^same-name-[a-f0-9]{8}$/);
    const takenSlugAnswer = await createDefinition({ name: 'Other', slug: 'same-name', sql: 'SELECT 1' });
    expect([takenSlugAnswer.status, takenSlugAnswer.body.error]).toEqual([409, 'VISUALIZATION_SLUG_DUPLICATE']);
    const renamedChart = await company.as.put(`${VISUALIZATIONS_PATH}/${secondChart._id}`, {
      json: { slug: 'same-name' },
    });
    expect([renamedChart.status, renamedChart.body.error]).toEqual([409, 'VISUALIZATION_SLUG_DUPLICATE']);
    const otherCompany = await createOwnedCompany();
    expect((await postVisualization(otherCompany.as, 'SELECT 1', { slug: 'same-name' })).slug).toBe('same-name');
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
    [{ name: 'a', sql: 'SELECT {{p}}', parameters: [makeParameter('p', 'date_range')] }, 'sql'],
    [{ name: 'a', sql: 'SELECT {{p.from}}', parameters: [makeParameter('p', 'date')] }, 'sql'],
    [{ name: 'a', sql: 'SELECT 1', slug: 'Not a slug' }, 'slug'],
    [{ name: 'a', sql: 'SELECT 1', parameters: [makeParameter('P', 'text')] }, 'parameters.0.slug'],
    [
      { name: 'a', sql: 'SELECT 1', parameters: [makeParameter('p', 'text'), makeParameter('p', 'text')] },
      'parameters.1.slug',
    ],
    [
      { name: 'a', sql: 'SELECT 1', parameters: [makeParameter('p', 'number', { default: 'x' })] },
      'parameters.0.default',
    ],
    [
      { name: 'a', sql: 'SELECT 1', parameters: [makeParameter('p', 'text', { default: [[[]]] })] },
      'parameters.0.default',
    ],
    [
      { name: 'a', sql: 'SELECT 1', parameters: Array.from({ length: 51 }, (_, n) => makeParameter(`p${n}`, 'text')) },
      'parameters',
    ],
  ])('is refused with %j', async (json, field) => {
    const { status, body } = await createDefinition(json);
    expect([status, body.error, body.details[0].field]).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it('is changed only in the fields that are sent, and stays valid', async () => {
    const createdChart = await postVisualization(company.as, 'SELECT {{n}}', {
      parameters: [makeParameter('n', 'number')],
    });
    const path = `${VISUALIZATIONS_PATH}/${createdChart._id}`;
    const { status, body } = await company.as.put(path, { json: { name: 'Renamed' } });
    expect([status, body]).toEqual([200, { ...createdChart, name: 'Renamed', updated_at: expect.any(String) }]);
    const invalidChangeAnswer = await company.as.put(path, { json: { parameters: [] } });
    expect([invalidChangeAnswer.status, invalidChangeAnswer.body.details[0].field]).toEqual([422, 'sql']);
    expect((await company.as.get(path)).body.parameters).toHaveLength(1);
  });

  it('stays valid when its SQL is changed at the same moment as its parameters are removed', async () => {
    const createdChart = await postVisualization(company.as, 'SELECT 1', {
      parameters: [makeParameter('n', 'number')],
    });
    const path = `${VISUALIZATIONS_PATH}/${createdChart._id}`;
    const lateChange = await sendDuringRace(
      /^update "visualizations"/,
      () => expectSuccess(company.as.put(path, { json: { parameters: [] } })),
      (env) => company.as.put(path, { json: { sql: 'SELECT {{n}}' }, env }),
    );
    expect([lateChange.status, lateChange.body.details[0].field]).toEqual([422, 'sql']);
    expect((await company.as.get(path)).body).toMatchObject({ sql: 'SELECT 1', parameters: [] });
  });

  it.each([
    [4, 200, 'Late'],
    [5, 409, 'Changed 5 times'],
  ])(
    'is changed, or refuses the change, after %i other changes during the request: status %i',
    async (changeCount, status, name) => {
      const path = `${VISUALIZATIONS_PATH}/${(await postVisualization(company.as, 'SELECT 1'))._id}`;
      let changedCount = 0;
      const lateChange = await sendDuringRace(
        /^update "visualizations"/,
        () => expectSuccess(company.as.put(path, { json: { name: `Changed ${++changedCount} times` } })),
        (env) => company.as.put(path, { json: { name: 'Late' }, env }),
        changeCount,
      );
      expect([lateChange.status, lateChange.body.error]).toEqual([status, status === 409 ? 'CONFLICT' : undefined]);
      expect((await company.as.get(path)).body.name).toBe(name);
    },
  );

  it('is deleted once, but not while it is on a dashboard', async () => {
    const createdChart = await postVisualization(company.as, 'SELECT 1');
    const path = `${VISUALIZATIONS_PATH}/${createdChart._id}`;
    const dashboard = await postDashboard(company.as, [createdChart]);
    const refusedDeletion = await company.as.delete(path);
    expect([refusedDeletion.status, refusedDeletion.body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    await company.as.put(`/v1/dashboards/${dashboard._id}`, { json: { layout: [] } });
    expect((await company.as.delete(path)).status).toBe(204);
    const secondDeletion = await company.as.delete(path);
    expect([secondDeletion.status, secondDeletion.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
    expect((await company.as.get(path)).status).toBe(404);
  });

  it('is listed newest first, in pages and by a literal part of its name', async () => {
    const ownCompany = await createOwnedCompany();
    for (const name of ['A 100% one', 'B', 'C 100% two']) await postVisualization(ownCompany.as, 'SELECT 1', { name });
    const { body } = await ownCompany.as.get(`${VISUALIZATIONS_PATH}?per_page=2`);
    expect([body.total, body.quantity, body.records.map((record: { name: string }) => record.name)]).toEqual([
      3,
      2,
      ['C 100% two', 'B'],
    ]);
    expect((await ownCompany.as.get(`${VISUALIZATIONS_PATH}?search=100%25%20T`)).body.total).toBe(1);
    for (const query of ['per_page=0', 'per_page=101', 'page=x']) {
      expect((await ownCompany.as.get(`${VISUALIZATIONS_PATH}?${query}`)).status).toBe(422);
    }
  });
});
