import { describe, expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createTokenCaller, expectSuccess } from '../support/signed.ts';
import { makeParameter, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { createReader, ENDPOINTS_PATH, publishSql } from './support.ts';

const company = await createOwnedCompany();

const postEndpoint = (json: Record<string, unknown>, as = company.as) =>
  as.post(ENDPOINTS_PATH, { json: { name: 'One', ...json } });
const UNUSED_ID = 'f'.repeat(24);

describe('an endpoint of the Data API', () => {
  it('is created, read, listed, changed and deleted', async () => {
    const { _id: visualization_id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const { status, body, headers } = await postEndpoint({
      slug: 'made',
      visualization_id,
      description: 'What it is.',
    });
    const createdEndpoint = {
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
    expect([status, body]).toEqual([201, createdEndpoint]);
    const path = `${ENDPOINTS_PATH}/${body._id}`;
    expect(headers.get('location')).toBe(path);
    expect((await company.as.get(path)).body).toEqual(body);
    expect((await company.as.get(`${ENDPOINTS_PATH}?search=ON`)).body).toMatchObject({ total: 1, records: [body] });
    const changedEndpoint = await expectSuccess(
      company.as.put(path, { json: { cache_seconds: 0, status: 'inactive', slug: 'changed' } }),
    );
    expect(changedEndpoint).toMatchObject({
      cache_seconds: 0,
      status: 'inactive',
      url: 'https://api.test/data/changed',
    });
    expect((await company.as.delete(path)).status).toBe(204);
    expect((await company.as.delete(path)).body.error).toBe('VIZ_API_ENDPOINT_NOT_FOUND');
    expect((await company.as.get(path)).status).toBe(404);
  });

  it.each([
    ['a malformed slug', { slug: 'A b' }, 'slug'],
    ['a cache time above the maximum', { cache_seconds: 3601 }, 'cache_seconds'],
    ['a negative cache time', { cache_seconds: -1 }, 'cache_seconds'],
    ['an empty name', { name: ' ' }, 'name'],
  ])('is refused with %s', async (_name, wrongFields, field) => {
    const { _id: visualization_id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const { status, body } = await postEndpoint({ slug: 'refused', visualization_id, ...wrongFields });
    expect([status, body.details?.[0]?.field]).toEqual([422, field]);
  });

  it('has a slug that is unique in its company', async () => {
    const { slug, visualization_id } = await publishSql(company, 'SELECT 1 AS one');
    const takenSlugAnswer = await postEndpoint({ slug, visualization_id });
    expect([takenSlugAnswer.status, takenSlugAnswer.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
    const otherEndpoint = await publishSql(company, 'SELECT 2 AS two');
    const changedSlugAnswer = await company.as.put(`${ENDPOINTS_PATH}/${otherEndpoint._id}`, { json: { slug } });
    expect([changedSlugAnswer.status, changedSlugAnswer.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
    await publishSql(await createOwnedCompany(), 'SELECT 1 AS one', { slug });
  });

  it('can publish only a visualization of its company', async () => {
    const otherCompany = await createOwnedCompany();
    const { _id: foreignId } = await postVisualization(otherCompany.as, 'SELECT 1 AS one');
    for (const visualization_id of [UNUSED_ID, foreignId, 'no-id']) {
      const { status, body } = await postEndpoint({ slug: 'nothing', visualization_id });
      expect([status, body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
    }
    const { _id } = await publishSql(company, 'SELECT 1 AS one');
    const changeAnswer = await company.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { visualization_id: foreignId } });
    expect(changeAnswer.status).toBe(404);
  });

  it('may be renamed and deactivated by a caller who may not execute the visualization, but not activated again', async () => {
    const { as } = await createAllowedUser(company, { can: ['viz_api_endpoints:*'] });
    const { _id } = await publishSql(company, 'SELECT 1 AS one');
    const changeEndpoint = async (json: object) => (await as.put(`${ENDPOINTS_PATH}/${_id}`, { json })).status;
    expect(await changeEndpoint({ name: 'Renamed' })).toBe(200);
    expect(await changeEndpoint({ status: 'inactive' })).toBe(200);
    expect(await changeEndpoint({ status: 'active' })).toBe(403);
  });

  it('cannot publish a visualization with a parameter called format', async () => {
    const parameters = [makeParameter('format', 'text')];
    const { _id: visualization_id } = await postVisualization(company.as, 'SELECT {{format}} AS form', { parameters });
    const { status, body } = await postEndpoint({ slug: 'form', visualization_id });
    expect([status, body.details?.[0]?.field]).toEqual([422, 'visualization_id']);
    const publishedEndpoint = await publishSql(company, 'SELECT 1 AS one');
    const moveAnswer = await company.as.put(`${ENDPOINTS_PATH}/${publishedEndpoint._id}`, {
      json: { visualization_id },
    });
    expect(moveAnswer.status).toBe(422);
    const path = `${VISUALIZATIONS_PATH}/${publishedEndpoint.visualization_id}`;
    const renameAnswer = await company.as.put(path, { json: { sql: 'SELECT {{format}} AS form', parameters } });
    expect([renameAnswer.status, renameAnswer.body.details?.[0]?.field]).toEqual([422, 'parameters']);
    await expectSuccess(company.as.delete(`${ENDPOINTS_PATH}/${publishedEndpoint._id}`));
    await expectSuccess(company.as.put(path, { json: { sql: 'SELECT {{format}} AS form', parameters } }));
  });

  it('prevents the deletion of its visualization, even if it is inactive', async () => {
    const { _id, visualization_id } = await publishSql(company, 'SELECT 1 AS one', { status: 'inactive' });
    const { status, body } = await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization_id}`);
    expect([status, body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    await expectSuccess(company.as.delete(`${ENDPOINTS_PATH}/${_id}`));
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${visualization_id}`)).status).toBe(204);
  });

  it('can be created by a service account', async () => {
    const serviceAccount = await createReader(company, 'viz_api_endpoints:create', 'visualizations:*');
    await publishSql({ as: await createTokenCaller(serviceAccount) }, 'SELECT 1 AS one');
  });
});
