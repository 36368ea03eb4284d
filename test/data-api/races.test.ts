import { beforeAll, describe, expect, it } from 'vitest';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aVisualization, parameter, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { aPublished, ENDPOINTS_PATH } from './support.ts';

let company: Company;
beforeAll(async () => {
  company = await aCompany();
});

const FORMAT = { sql: 'SELECT {{format}} AS form', parameters: [parameter('format', 'text')] };
const publish = (visualization_id: string, slug: string, env: Record<string, string> = {}) =>
  company.as.post(ENDPOINTS_PATH, { json: { name: 'One', slug, visualization_id }, env });
const change = (id: string, json: object, env: Record<string, string> = {}) =>
  company.as.put(`${ENDPOINTS_PATH}/${id}`, { json, env });
const rename = (id: string, env: Record<string, string> = {}) =>
  company.as.put(`${VISUALIZATIONS_PATH}/${id}`, { json: FORMAT, env });
const INSERT = /^insert into "viz_api_endpoints"/;
const UPDATE = /^update "viz_api_endpoints"/;

describe('a Data API endpoint', () => {
  it('is not created when its visualization is deleted at the same moment', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      INSERT,
      () => must(company.as.delete(`${VISUALIZATIONS_PATH}/${_id}`)),
      (env) => publish(_id, 'deleted-meanwhile', env),
    );
    expect([answer.status, answer.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
  });

  it('is not created when its visualization gets a parameter called format at the same moment', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      INSERT,
      () => must(rename(_id)),
      (env) => publish(_id, 'format-meanwhile', env),
    );
    expect(answer.status).toBe(422);
    expect(await countRows('viz_api_endpoints where visualization_id = ?', _id)).toBe(0);
  });

  it('is not changed to a visualization that gets a parameter called format, or is deleted, at the same moment', async () => {
    const { _id } = await aPublished(company, 'SELECT 1 AS one');
    const other = await aVisualization(company.as, 'SELECT 2 AS two');
    const named = await sendOvertaken(
      UPDATE,
      () => must(rename(other._id)),
      (env) => change(_id, { visualization_id: other._id }, env),
    );
    expect(named.status).toBe(422);
    const gone = await aVisualization(company.as, 'SELECT 3 AS three');
    const deleted = await sendOvertaken(
      UPDATE,
      () => must(company.as.delete(`${VISUALIZATIONS_PATH}/${gone._id}`)),
      (env) => change(_id, { visualization_id: gone._id }, env),
    );
    expect(deleted.status).toBe(404);
  });

  it('keeps another field that is changed at the same moment', async () => {
    const { _id } = await aPublished(company, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      UPDATE,
      () => must(change(_id, { description: 'Meanwhile.' })),
      (env) => change(_id, { cache_seconds: 7 }, env),
    );
    expect(answer.body).toMatchObject({ description: 'Meanwhile.', cache_seconds: 7 });
  });

  it('is not created when another one takes its slug at the same moment', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      INSERT,
      () => must(publish(_id, 'both-want-it')),
      (env) => publish(_id, 'both-want-it', env),
    );
    expect([answer.status, answer.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
  });
});

describe('a visualization that a Data API endpoint publishes', () => {
  it('is not deleted when it is published at the same moment', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      /^delete from "visualizations"/,
      () => must(publish(_id, 'published-meanwhile')),
      (env) => company.as.delete(`${VISUALIZATIONS_PATH}/${_id}`, { env }),
    );
    expect([answer.status, answer.body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    expect(await selectRow('select id from visualizations where id = ?', _id)).toEqual({ id: _id });
  });

  it('cannot get a parameter called format when it is published at the same moment', async () => {
    const { _id } = await aVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendOvertaken(
      /^update "visualizations"/,
      () => must(publish(_id, 'published-before')),
      (env) => rename(_id, env),
    );
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([422, 'parameters']);
  });
});
