import { beforeAll, describe, expect, it } from 'vitest';
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

const create = (json: unknown) => company.as.post(DASHBOARDS_PATH, { json });
const place = (visualization: { _id: string }) => ({ visualization_id: visualization._id, x: 0, y: 0, w: 4, h: 3 });

describe('a dashboard', () => {
  it('is created with the fields that are sent, and with defaults for the rest', async () => {
    const made = await aVisualization(company.as, 'SELECT 1 [[WHERE 1 = ANY({{years}}::int[])]]', {
      parameters: [parameter('years', 'multi_select')],
    });
    const definition = {
      name: 'Overview',
      slug: 'overview-one',
      description: 'At a glance.',
      cache_seconds: 300,
      layout: [place(made)],
      filters: [
        {
          slug: 'years',
          label: 'Years',
          kind: 'multi_select',
          options: [{ label: 'This year', value: '2024' }],
          default: ['2024'],
          required: true,
          applies_to: [made._id],
        },
        {
          ...parameter('country', 'select'),
          default: null,
          required: false,
          options: { sql: 'SELECT 1' },
          applies_to: null,
        },
      ],
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
    expect((await company.as.get(`${DASHBOARDS_PATH}/${body._id}`)).body).toEqual(body);
    const numbers = [{ ...parameter('year', 'select'), options: [{ label: 2024, value: 2024 }] }];
    const { filters } = (await create({ name: 'Numbers', filters: numbers })).body;
    expect(filters[0].options).toEqual([{ label: '2024', value: '2024' }]);
    const unfit = [{ ...parameter('year', 'select'), options: [{ label: '2024', value: null }] }];
    expect((await create({ name: 'Unfit', filters: unfit })).body.details).toEqual([
      { field: 'filters.0.options.0.value', reason: 'type', message: 'must be text' },
    ]);
    expect((await create({ name: 'Bare' })).body).toMatchObject({
      slug: 'bare',
      cache_seconds: 60,
      layout: [],
      filters: [],
    });
  });

  it('is refused with a taken slug, and gets a free one when none is sent', async () => {
    await create({ name: 'Twice' });
    expect((await create({ name: 'Twice' })).body.slug).toMatch(/^twice-[a-f0-9]{8}$/);
    const { status, body } = await create({ name: 'Other', slug: 'twice' });
    expect([status, body.error]).toEqual([409, 'DASHBOARD_SLUG_DUPLICATE']);
  });

  it('is refused with visualizations of another company', async () => {
    const other = await aCompany();
    const foreign = await aVisualization(other.as, 'SELECT 1');
    const own = await aVisualization(company.as, 'SELECT 1');
    const dashboard = await aDashboard(company.as, [own]);
    for (const layout of [[place(foreign)], [place(own), place({ _id: 'f'.repeat(24) })]]) {
      for (const answer of [
        await create({ name: 'Wrong', layout }),
        await company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, { json: { layout } }),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
      }
    }
    expect((await company.as.get(`${DASHBOARDS_PATH}/${dashboard._id}`)).body.layout).toEqual(dashboard.layout);
  });

  it('is refused with a filter that does not fit its visualizations', async () => {
    const made = await aVisualization(company.as, "SELECT {{n}}, {{one}}, '' = ANY({{some}})", {
      parameters: [parameter('n', 'number'), parameter('one', 'select'), parameter('some', 'select')],
    });
    const layout = [place(made)];
    const cases: [unknown, string][] = [
      [{ ...parameter('n', 'text') }, 'filters.0.kind'],
      [{ ...parameter('n', 'date_range') }, 'filters.0.kind'],
      [{ ...parameter('one', 'multi_select') }, 'filters.0.kind'],
      [{ ...parameter('some', 'multi_select', { default: { a: 1 } }) }, 'filters.0.default'],
      [{ ...parameter('some', 'select', { applies_to: ['f'.repeat(24)] }) }, 'filters.0.applies_to'],
      [{ ...parameter('some', 'select', { options: { sql: 'SELECT {{n}}' } }) }, 'filters.0.options.sql'],
      [{ ...parameter('n', 'number', { options: [{ label: 'a', value: 'a' }] }) }, 'filters.0.options'],
      [{ ...parameter('Not a slug', 'text') }, 'filters.0.slug'],
      [{ ...parameter('some', 'list') }, 'filters.0.kind'],
    ];
    for (const [filter, field] of cases) {
      const { status, body } = await create({ name: 'Wrong', layout, filters: [filter] });
      expect([filter, status, body.details?.[0]?.field]).toEqual([filter, 422, field]);
    }
    const fitting = [parameter('n', 'number'), parameter('one', 'text'), parameter('some', 'multi_select')];
    expect((await create({ name: 'Right', layout, filters: fitting })).status).toBe(201);
    const exempt = [{ ...parameter('n', 'text'), applies_to: [] }];
    expect((await create({ name: 'Right', layout, filters: exempt })).status).toBe(201);
  });

  it('is changed only in the fields that are sent', async () => {
    const [one, two] = [await aVisualization(company.as, 'SELECT 1'), await aVisualization(company.as, 'SELECT 2')];
    const made = await aDashboard(company.as, [one], { filters: [parameter('q', 'text')] });
    const path = `${DASHBOARDS_PATH}/${made._id}`;
    const { status, body } = await company.as.put(path, { json: { layout: [place(two)] } });
    expect([status, body]).toEqual([200, { ...made, layout: [place(two)], updated_at: expect.any(String) }]);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${one._id}`)).status).toBe(204);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${two._id}`)).body.error).toBe('VISUALIZATION_IN_USE');
    expect((await company.as.put(path, { json: { cache_seconds: 0, name: 'New' } })).body).toMatchObject({
      cache_seconds: 0,
      name: 'New',
      layout: [place(two)],
    });
  });

  it('is deleted once, after which its visualizations can be deleted', async () => {
    const visualization = await aVisualization(company.as, 'SELECT 1');
    const { _id } = await aDashboard(company.as, [visualization]);
    expect((await company.as.delete(`${DASHBOARDS_PATH}/${_id}`)).status).toBe(204);
    const again = await company.as.delete(`${DASHBOARDS_PATH}/${_id}`);
    expect([again.status, again.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization._id}`)).status).toBe(204);
  });
});
