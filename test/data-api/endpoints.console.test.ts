import { beforeAll, describe, expect, it } from 'vitest';
import { must, withServiceToken } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { aVisualization, parameter, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { aPublished, aReader, ENDPOINTS_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const post = (json: Record<string, unknown>, as = company.as) =>
  as.post(ENDPOINTS_PATH, { json: { name: 'One', ...json } });
const NOBODYS = 'f'.repeat(24);

describe('an endpoint of the Data API', () => {
  it('is created, read, listed, changed and deleted', async () => {
    const { _id: visualization_id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const { status, body, headers } = await post({ slug: 'made', visualization_id, description: 'What it is.' });
    const made = {
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      name: 'One',
      slug: 'made',
      description: 'What it is.',
      visualization_id,
      cache_seconds: 60,
      status: 'active',
      url: 'https://api.test/data/made',
      created_at: expect.any(String),
      updated_at: expect.any(String),
    };
    expect([status, body]).toEqual([201, made]);
    const path = `${ENDPOINTS_PATH}/${body._id}`;
    expect(headers.get('location')).toBe(path);
    expect((await company.as.get(path)).body).toEqual(body);
    expect((await company.as.get(`${ENDPOINTS_PATH}?search=ON`)).body).toMatchObject({ total: 1, records: [body] });
    const changed = await must(
      company.as.put(path, { json: { cache_seconds: 0, status: 'inactive', slug: 'changed' } }),
    );
    expect(changed).toMatchObject({ cache_seconds: 0, status: 'inactive', url: 'https://api.test/data/changed' });
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await company.as.delete(path)).body.error).toBe('VIZ_API_ENDPOINT_NOT_FOUND');
    expect((await company.as.get(path)).status).toBe(404);
  });

  it.each([
    ['a malformed slug', { slug: 'A b' }, 'slug'],
    ['no slug', { slug: undefined }, 'slug'],
    ['no visualization', { visualization_id: undefined }, 'visualization_id'],
    ['a cache time above the maximum', { cache_seconds: 3601 }, 'cache_seconds'],
    ['a negative cache time', { cache_seconds: -1 }, 'cache_seconds'],
    ['an unknown status', { status: 'paused' }, 'status'],
    ['an empty name', { name: ' ' }, 'name'],
    ['no name', { name: undefined }, 'name'],
  ])('is refused with %s', async (_name, wrong, field) => {
    const { _id: visualization_id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const { status, body } = await post({ slug: 'refused', visualization_id, ...wrong });
    expect([status, body.details?.[0]?.field]).toEqual([422, field]);
  });

  it('has a slug that is unique in its company', async () => {
    const { slug, visualization_id } = await aPublished(company, 'SELECT 1 AS one');
    const again = await post({ slug, visualization_id });
    expect([again.status, again.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
    const other = await aPublished(company, 'SELECT 2 AS two');
    const moved = await company.as.put(`${ENDPOINTS_PATH}/${other._id}`, { json: { slug } });
    expect([moved.status, moved.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
    await aPublished(await aCompany(), 'SELECT 1 AS one', { slug });
  });

  it('can publish only a visualization of its company', async () => {
    const stranger = await aCompany();
    const { _id: foreign } = await aVisualization(stranger.as, 'SELECT 1 AS one');
    for (const visualization_id of [NOBODYS, foreign, 'no-id']) {
      const { status, body } = await post({ slug: 'nothing', visualization_id });
      expect([status, body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
    }
    const { _id } = await aPublished(company, 'SELECT 1 AS one');
    const changed = await company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { visualization_id: foreign } });
    expect(changed.status).toBe(404);
  });

  it('may be renamed and taken off by a caller who may not execute the visualization, not put on again', async () => {
    const { as } = await aUser(company, { can: ['viz_api_endpoints:*'] });
    const { _id } = await aPublished(company, 'SELECT 1 AS one');
    const change = async (json: object) => (await as.put(`${ENDPOINTS_PATH}/${_id}`, { json })).status;
    expect(await change({ name: 'Renamed' })).toBe(200);
    expect(await change({ status: 'inactive' })).toBe(200);
    expect(await change({ status: 'active' })).toBe(403);
  });

  it('cannot publish a visualization with a parameter called format', async () => {
    const parameters = [parameter('format', 'text')];
    const { _id: visualization_id } = await aVisualization(company.as, 'SELECT {{format}} AS form', { parameters });
    const { status, body } = await post({ slug: 'form', visualization_id });
    expect([status, body.details?.[0]?.field]).toEqual([422, 'visualization_id']);
    const published = await aPublished(company, 'SELECT 1 AS one');
    const moved = await company.as.put(`${ENDPOINTS_PATH}/${published._id}`, { json: { visualization_id } });
    expect(moved.status).toBe(422);
    const path = `${VISUALIZATIONS_PATH}/${published.visualization_id}`;
    const named = await company.as.put(path, { json: { sql: 'SELECT {{format}} AS form', parameters } });
    expect([named.status, named.body.details?.[0]?.field]).toEqual([422, 'parameters']);
    await must(company.as.delete(`${ENDPOINTS_PATH}/${published._id}`));
    await must(company.as.put(path, { json: { sql: 'SELECT {{format}} AS form', parameters } }));
  });

  it('prevents the deletion of its visualization, even if it is inactive', async () => {
    const { _id, visualization_id } = await aPublished(company, 'SELECT 1 AS one', { status: 'inactive' });
    const { status, body } = await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization_id}`);
    expect([status, body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    await must(company.as.delete(`${ENDPOINTS_PATH}/${_id}`));
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization_id}`)).status).toBe(204);
  });

  it('can be created by a service account', async () => {
    const robot = await aReader(company, 'viz_api_endpoints:create', 'visualizations:*');
    await aPublished({ as: await withServiceToken(robot) }, 'SELECT 1 AS one');
  });
});
