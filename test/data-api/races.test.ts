import { describe, expect, it } from 'vitest';
import { createOwnedCompany } from '../support/companies.ts';
import { countRows, selectRow, sendDuringRace, sendTwice } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { makeParameter, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import { ENDPOINTS_PATH, publishSql } from './support.ts';

const company = await createOwnedCompany();

const FORMAT_VISUALIZATION = { sql: 'SELECT {{format}} AS form', parameters: [makeParameter('format', 'text')] };
const publishVisualization = (visualization_id: string, slug: string, env: Record<string, string> = {}) =>
  company.as.post(ENDPOINTS_PATH, { json: { name: 'One', slug, visualization_id }, env });
const changeEndpoint = (id: string, json: object, env: Record<string, string> = {}) =>
  company.as.put(`${ENDPOINTS_PATH}/${id}`, { json, env });
const renameEndpoint = (id: string, env: Record<string, string> = {}) =>
  company.as.put(`${VISUALIZATIONS_PATH}/${id}`, { json: FORMAT_VISUALIZATION, env });
const ENDPOINT_INSERT_PATTERN = /^insert into "viz_api_endpoints"/;
const ENDPOINT_UPDATE_PATTERN = /^update "viz_api_endpoints"/;

describe('a Data API endpoint', () => {
  it('is not created when its visualization is deleted at the same moment', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendDuringRace(
      ENDPOINT_INSERT_PATTERN,
      () => expectSuccess(company.as.delete(`${VISUALIZATIONS_PATH}/${_id}`)),
      (env) => publishVisualization(_id, 'deleted-meanwhile', env),
    );
    expect([answer.status, answer.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
  });

  it('is not created when its visualization gets a parameter called format at the same moment', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendDuringRace(
      ENDPOINT_INSERT_PATTERN,
      () => expectSuccess(renameEndpoint(_id)),
      (env) => publishVisualization(_id, 'format-meanwhile', env),
    );
    expect(answer.status).toBe(422);
    expect(await countRows('viz_api_endpoints where visualization_id = ?', _id)).toBe(0);
  });

  it('is not changed to a visualization that gets a parameter called format, or is deleted, at the same moment', async () => {
    const { _id } = await publishSql(company, 'SELECT 1 AS one');
    const otherVisualization = await postVisualization(company.as, 'SELECT 2 AS two');
    const renamedAnswer = await sendDuringRace(
      ENDPOINT_UPDATE_PATTERN,
      () => expectSuccess(renameEndpoint(otherVisualization._id)),
      (env) => changeEndpoint(_id, { visualization_id: otherVisualization._id }, env),
    );
    expect(renamedAnswer.status).toBe(422);
    const deletedVisualization = await postVisualization(company.as, 'SELECT 3 AS three');
    const deletionAnswer = await sendDuringRace(
      ENDPOINT_UPDATE_PATTERN,
      () => expectSuccess(company.as.delete(`${VISUALIZATIONS_PATH}/${deletedVisualization._id}`)),
      (env) => changeEndpoint(_id, { visualization_id: deletedVisualization._id }, env),
    );
    expect(deletionAnswer.status).toBe(404);
  });

  it('keeps another field that a concurrent request changes', async () => {
    const { _id } = await publishSql(company, 'SELECT 1 AS one');
    const answer = await sendDuringRace(
      ENDPOINT_UPDATE_PATTERN,
      () => expectSuccess(changeEndpoint(_id, { description: 'Meanwhile.' })),
      (env) => changeEndpoint(_id, { cache_seconds: 7 }, env),
    );
    expect(answer.body).toMatchObject({ description: 'Meanwhile.', cache_seconds: 7 });
  });

  it('is not created when another endpoint takes its slug at the same moment', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendTwice(ENDPOINT_INSERT_PATTERN, (env) => publishVisualization(_id, 'both-want-it', env));
    expect([answer.status, answer.body.error]).toEqual([409, 'VIZ_API_ENDPOINT_SLUG_DUPLICATE']);
  });
});

describe('a visualization that a Data API endpoint publishes', () => {
  it('is not deleted when it is published at the same moment', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendDuringRace(
      /^delete from "visualizations"/,
      () => expectSuccess(publishVisualization(_id, 'published-meanwhile')),
      (env) => company.as.delete(`${VISUALIZATIONS_PATH}/${_id}`, { env }),
    );
    expect([answer.status, answer.body.error]).toEqual([409, 'VISUALIZATION_IN_USE']);
    expect(await selectRow('select id from visualizations where id = ?', _id)).toEqual({ id: _id });
  });

  it('cannot get a parameter called format when it is published at the same moment', async () => {
    const { _id } = await postVisualization(company.as, 'SELECT 1 AS one');
    const answer = await sendDuringRace(
      /^update "visualizations"/,
      () => expectSuccess(publishVisualization(_id, 'published-before')),
      (env) => renameEndpoint(_id, env),
    );
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([422, 'parameters']);
  });
});
