import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';

const company = await createOwnedCompany();

const createDashboard = (json: unknown) => company.as.post(DASHBOARDS_PATH, { json });
const makeLayoutItem = (visualization: { _id: string }) => ({
  visualization_id: visualization._id,
  x: 0,
  y: 0,
  w: 4,
  h: 3,
});

describe('a dashboard', () => {
  it('is created with the fields that are sent, and with defaults for all other fields', async () => {
    const createdVisualization = await postVisualization(company.as, 'SELECT 1 [[WHERE 1 = ANY({{years}}::int[])]]', {
      parameters: [makeParameter('years', 'multi_select')],
    });
    const definition = {
      name: 'Overview',
      slug: 'overview-one',
      description: 'At a glance.',
      cache_seconds: 300,
      layout: [makeLayoutItem(createdVisualization)],
      filters: [
        {
          slug: 'years',
          label: 'Years',
          kind: 'multi_select',
          options: [{ label: 'This year', value: '2024' }],
          default: ['2024'],
          required: true,
          applies_to: [createdVisualization._id],
        },
        {
          ...makeParameter('country', 'select'),
          default: null,
          required: false,
          options: { sql: 'SELECT 1' },
          applies_to: null,
        },
      ],
    };
    const { status, body } = await createDashboard(definition);
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
    expect((await company.as.get(`${DASHBOARDS_PATH}/${body._id}`)).body).toEqual(body);
    const numericFilters = [{ ...makeParameter('year', 'select'), options: [{ label: 2024, value: 2024 }] }];
    const { filters } = (await createDashboard({ name: 'Numbers', filters: numericFilters })).body;
    expect(filters[0].options).toEqual([{ label: '2024', value: '2024' }]);
    const invalidFilters = [{ ...makeParameter('year', 'select'), options: [{ label: '2024', value: null }] }];
    expect((await createDashboard({ name: 'Unfit', filters: invalidFilters })).body.details).toEqual([
      { field: 'filters.0.options.0.value', reason: 'type', message: 'must be text' },
    ]);
    expect((await createDashboard({ name: 'Bare' })).body).toMatchObject({
      slug: 'bare',
      cache_seconds: 60,
      layout: [],
      filters: [],
    });
  });

  it('is refused with a taken slug, and gets a free slug when none is sent', async () => {
    await createDashboard({ name: 'Twice' });
    expect((await createDashboard({ name: 'Twice' })).body.slug).toMatch(/^twice-[a-f0-9]{8}$/);
    const { status, body } = await createDashboard({ name: 'Other', slug: 'twice' });
    expect([status, body.error]).toEqual([409, 'DASHBOARD_SLUG_DUPLICATE']);
  });

  it('is refused with visualizations of another company', async () => {
    const other = await createOwnedCompany();
    const foreignVisualization = await postVisualization(other.as, 'SELECT 1');
    const ownVisualization = await postVisualization(company.as, 'SELECT 1');
    const dashboard = await postDashboard(company.as, [ownVisualization]);
    for (const layout of [
      [makeLayoutItem(foreignVisualization)],
      [makeLayoutItem(ownVisualization), makeLayoutItem({ _id: 'f'.repeat(24) })],
    ]) {
      for (const answer of [
        await createDashboard({ name: 'Wrong', layout }),
        await company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, { json: { layout } }),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
      }
    }
    expect((await company.as.get(`${DASHBOARDS_PATH}/${dashboard._id}`)).body.layout).toEqual(dashboard.layout);
  });

  it('is refused with a filter that does not fit its visualizations', async () => {
    const createdVisualization = await postVisualization(company.as, "SELECT {{n}}, {{one}}, '' = ANY({{some}})", {
      parameters: [makeParameter('n', 'number'), makeParameter('one', 'select'), makeParameter('some', 'select')],
    });
    const layout = [makeLayoutItem(createdVisualization)];
    const cases: [unknown, string][] = [
      [{ ...makeParameter('n', 'text') }, 'filters.0.kind'],
      [{ ...makeParameter('n', 'date_range') }, 'filters.0.kind'],
      [{ ...makeParameter('one', 'multi_select') }, 'filters.0.kind'],
      [{ ...makeParameter('some', 'multi_select', { default: { a: 1 } }) }, 'filters.0.default'],
      [{ ...makeParameter('some', 'select', { applies_to: ['f'.repeat(24)] }) }, 'filters.0.applies_to'],
      [{ ...makeParameter('some', 'select', { options: { sql: 'SELECT {{n}}' } }) }, 'filters.0.options.sql'],
      [{ ...makeParameter('n', 'number', { options: [{ label: 'a', value: 'a' }] }) }, 'filters.0.options'],
      [{ ...makeParameter('Not a slug', 'text') }, 'filters.0.slug'],
      [{ ...makeParameter('some', 'list') }, 'filters.0.kind'],
    ];
    for (const [filter, field] of cases) {
      const { status, body } = await createDashboard({ name: 'Wrong', layout, filters: [filter] });
      expect([filter, status, body.details?.[0]?.field]).toEqual([filter, 422, field]);
    }
    const fittingFilters = [
      makeParameter('n', 'number'),
      makeParameter('one', 'text'),
      makeParameter('some', 'multi_select'),
    ];
    expect((await createDashboard({ name: 'Right', layout, filters: fittingFilters })).status).toBe(201);
    const exemptFilters = [{ ...makeParameter('n', 'text'), applies_to: [] }];
    expect((await createDashboard({ name: 'Right', layout, filters: exemptFilters })).status).toBe(201);
  });

  it('is changed only in the fields that are sent', async () => {
    const [one, two] = [
      await postVisualization(company.as, 'SELECT 1'),
      await postVisualization(company.as, 'SELECT 2'),
    ];
    const createdDashboard = await postDashboard(company.as, [one], { filters: [makeParameter('q', 'text')] });
    const path = `${DASHBOARDS_PATH}/${createdDashboard._id}`;
    const { status, body } = await company.as.put(path, { json: { layout: [makeLayoutItem(two)] } });
    expect([status, body]).toEqual([
      200,
      { ...createdDashboard, layout: [makeLayoutItem(two)], updated_at: expect.any(String) },
    ]);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${one._id}`)).status).toBe(204);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${two._id}`)).body.error).toBe('VISUALIZATION_IN_USE');
    expect((await company.as.put(path, { json: { cache_seconds: 0, name: 'New' } })).body).toMatchObject({
      cache_seconds: 0,
      name: 'New',
      layout: [makeLayoutItem(two)],
    });
  });

  it('is deleted once, and afterwards its visualizations can be deleted', async () => {
    const visualization = await postVisualization(company.as, 'SELECT 1');
    const { _id } = await postDashboard(company.as, [visualization]);
    expect((await company.as.delete(`${DASHBOARDS_PATH}/${_id}`)).status).toBe(204);
    const secondAnswer = await company.as.delete(`${DASHBOARDS_PATH}/${_id}`);
    expect([secondAnswer.status, secondAnswer.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization._id}`)).status).toBe(204);
  });
});
