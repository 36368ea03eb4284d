import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { expectTypes } from '../share-activity/support.ts';
import { createSalesDashboard } from '../shares/support.ts';
import { advanceClock, resetClock, runScheduled, stopClockAt } from '../support/clock.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { runSql, sendDuringRace } from '../support/race.ts';
import { createEmbedClient, createEmbedRecord, REVOCATION_PATH, readStatus } from './support.ts';

const company = await createOwnedCompany();
const sales = await createSalesDashboard(company);
const dashboard = sales.dashboard._id;
const visualization = sales.rows._id;

const makeDashboardToken = (inCompany = company, id = dashboard) => createEmbedRecord(inCompany, 'dashboards', id);
const makeVisualizationToken = () => createEmbedRecord(company, 'visualizations', visualization);
const postRevocation = (json: unknown, as = company.as, extraOptions = {}) =>
  as.post(REVOCATION_PATH, { json, ...extraOptions });
const revokeAndRead = async (json: unknown, as = company.as) =>
  expect((await postRevocation(json, as)).status).toBe(204);
const readDashboardStatus = (token: string) => readStatus('d', token);
const readVisualizationStatus = (token: string) => readStatus('v', token);
const listRevokedSubjects = async ({ id }: Company): Promise<string[]> => {
  const { results } = await env.CONTROL_DB.prepare(
    'select subject from embed_revocations where company_id = ? order by 1',
  )
    .bind(id)
    .all<{ subject: string }>();
  return results.map(({ subject }) => subject);
};

describe('a revocation of embed tokens', () => {
  it('by token id ends only that token, on the next request', async () => {
    const [one, other] = [await makeDashboardToken(), await makeDashboardToken()];
    await revokeAndRead({ token_id: one.id });
    const embed = createEmbedClient('d', one.token);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
    expect(await readDashboardStatus(other.token)).toBe(200);
    await revokeAndRead({ token_id: one.id });
  });

  it('by dashboard ends the earlier tokens of that dashboard, and no other tokens', async () => {
    const ownSales = await createSalesDashboard(company);
    const earlierTokens = [
      await makeDashboardToken(company, ownSales.dashboard._id),
      await makeDashboardToken(company, ownSales.dashboard._id),
    ];
    const [elsewhere, alone] = [
      await makeDashboardToken(),
      await createEmbedRecord(company, 'visualizations', ownSales.rows._id),
    ];
    await revokeAndRead({ dashboard_id: ownSales.dashboard._id });
    for (const { token } of earlierTokens) expect(await readDashboardStatus(token)).toBe(401);
    expect([await readDashboardStatus(elsewhere.token), await readVisualizationStatus(alone.token)]).toEqual([
      200, 200,
    ]);
    expect(await readDashboardStatus((await makeDashboardToken(company, ownSales.dashboard._id)).token)).toBe(200);
  });

  it("by visualization ends the visualization's own tokens, but not the tokens of a dashboard with it", async () => {
    const [alone, onDashboard] = [await makeVisualizationToken(), await makeDashboardToken()];
    await revokeAndRead({ visualization_id: visualization });
    expect([await readVisualizationStatus(alone.token), await readDashboardStatus(onDashboard.token)]).toEqual([
      401, 200,
    ]);
    expect(await readVisualizationStatus((await makeVisualizationToken()).token)).toBe(200);
  });

  it('ends tokens that were made before it in the same millisecond, and no tokens made after it', async () => {
    const ownDashboardId = (await createSalesDashboard(company)).dashboard._id;
    const now = Date.now();
    stopClockAt(now);
    const tokenBefore = await makeDashboardToken(company, ownDashboardId);
    await revokeAndRead({ dashboard_id: ownDashboardId });
    // The clock of the machine that makes this one is a second late.
    stopClockAt(now - 1_000);
    const tokenAfter = await makeDashboardToken(company, ownDashboardId);
    stopClockAt(now);
    expect([await readDashboardStatus(tokenBefore.token), await readDashboardStatus(tokenAfter.token)]).toEqual([
      401, 200,
    ]);
    // Neither is anything made alive again by a clock that is late.
    stopClockAt(now - 5_000);
    await revokeAndRead({ dashboard_id: ownDashboardId });
    stopClockAt(now);
    expect([await readDashboardStatus(tokenBefore.token), await readDashboardStatus(tokenAfter.token)]).toEqual([
      401, 200,
    ]);
  });

  it('ends a token whose creation began before the revocation', async () => {
    const ownDashboardId = (await createSalesDashboard(company)).dashboard._id;
    const answer = await sendDuringRace(
      /update "dashboards"/i,
      () => revokeAndRead({ dashboard_id: ownDashboardId }),
      (racingEnv) => company.as.post(`/api/v1/embed/dashboards/${ownDashboardId}`, { json: {}, env: racingEnv }),
    );
    expect([answer.status, await readDashboardStatus(answer.body.token)]).toEqual([201, 401]);
  });

  it('has no effect on another company', async () => {
    const other = await createOwnedCompany();
    const otherDashboardId = (await createSalesDashboard(other)).dashboard._id;
    const token = await makeDashboardToken(other, otherDashboardId);
    for (const json of [{ token_id: token.id }, { dashboard_id: otherDashboardId }]) {
      const { status, body } = await postRevocation(json);
      expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
    await revokeAndRead({ viewer_id: 'somebody' });
    await runSql('insert into embed_revocations select ?, ?, ?', company.id, `token:${token.id}`, Date.now() + 60_000);
    expect(await readDashboardStatus(token.token)).toBe(200);
  });

  it.each([
    ['no field', {}, 'token_id'],
    ['two fields', { token_id: 'x', viewer_id: 'y' }, 'viewer_id'],
    ['all fields', { token_id: 'x', dashboard_id: 'd', visualization_id: 'v', viewer_id: 'y' }, 'dashboard_id'],
    ['an empty id', { viewer_id: '' }, 'viewer_id'],
    ['an id of 201 characters', { viewer_id: 'x'.repeat(201) }, 'viewer_id'],
  ])('with %s is refused', async (_what, json, field) => {
    const { status, body } = await postRevocation(json);
    expect([status, body.error_code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(JSON.stringify(body.details)).toContain(`"${field}"`);
  });

  it.each([
    ['dashboard_id', '0'.repeat(24)],
    ['dashboard_id', 'nothing'],
    ['visualization_id', '0'.repeat(24)],
    ['token_id', `d-${'0'.repeat(24)}-${'0'.repeat(24)}`],
    ['token_id', `v-${'0'.repeat(24)}-${'0'.repeat(24)}`],
  ])('of a %s that does not exist is answered 404 (%s)', async (member, id) => {
    const { status, body } = await postRevocation({ [member]: id });
    expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
  });

  it('of a token that a host has signed needs the permission to share everything', async () => {
    for (const [can, status] of [
      [['dashboards:share'], 403],
      [['visualizations:share'], 403],
      [['dashboards:share', 'visualizations:share'], 204],
    ] as const) {
      const { as } = await createAllowedUser(company, { can: [...can] });
      expect([can, (await postRevocation({ token_id: 'of-a-host' }, as)).status]).toEqual([can, status]);
    }
  });

  it('is logged as an event about the dashboard or visualization of the tokens', async () => {
    const ownCompany = await createOwnedCompany();
    const ownSales = await createSalesDashboard(ownCompany);
    const { id } = await makeDashboardToken(ownCompany, ownSales.dashboard._id);
    for (const json of [{ token_id: id }, { visualization_id: ownSales.rows._id }, { viewer_id: 'u1' }]) {
      await revokeAndRead(json, ownCompany.as);
    }
    const events = await expectTypes(ownCompany, 'type=embed.revoked', Array(3).fill('embed.revoked'));
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ target_type: null, target_id: null, details: { viewer_id: 'u1' } }),
        expect.objectContaining({ target_type: 'visualization', target_id: ownSales.rows._id, details: {} }),
        expect.objectContaining({
          target_type: 'dashboard',
          target_id: ownSales.dashboard._id,
          details: { token_id: id },
        }),
      ]),
    );
  });
});

describe('the stored revocations of embed tokens', () => {
  it('cost no query of their own: they are read together with the token’s target', async () => {
    const { token } = await makeDashboardToken();
    for (const [kind, of] of [
      ['d', token],
      ['v', (await makeVisualizationToken()).token],
    ] as const) {
      const countingDb = createCountingD1();
      expect((await createEmbedClient(kind, of).info({ env: countingDb.env })).status).toBe(200);
      expect(countingDb.countCalls()).toBe(1);
    }
  });

  it('are one row each; the revocation of a dashboard replaces those of its tokens', async () => {
    const ownCompany = await createOwnedCompany();
    const [one, other] = [await createSalesDashboard(ownCompany), await createSalesDashboard(ownCompany)];
    const tokens = [];
    for (const { dashboard: shownDashboard } of [one, one, other])
      tokens.push(await makeDashboardToken(ownCompany, shownDashboard._id));
    for (const { id } of tokens) await revokeAndRead({ token_id: id }, ownCompany.as);
    await revokeAndRead({ token_id: tokens[0]?.id }, ownCompany.as);
    const otherCompany = await createOwnedCompany();
    await runSql(
      'insert into embed_revocations select ?, subject, revoked_at from embed_revocations where company_id = ?',
      otherCompany.id,
      ownCompany.id,
    );
    expect(await listRevokedSubjects(ownCompany)).toHaveLength(3);
    await revokeAndRead({ dashboard_id: one.dashboard._id }, ownCompany.as);
    expect(await listRevokedSubjects(ownCompany)).toEqual([`dashboard:${one.dashboard._id}`, `token:${tokens[2]?.id}`]);
    for (const { token } of tokens) expect(await readDashboardStatus(token)).toBe(401);
    expect(await listRevokedSubjects(otherCompany)).toHaveLength(3);
  });

  it('keep the revocation of a token that is later than the revocation of its dashboard', async () => {
    const ownCompany = await createOwnedCompany();
    const ownDashboardId = (await createSalesDashboard(ownCompany)).dashboard._id;
    const { id, token } = await makeDashboardToken(ownCompany, ownDashboardId);
    advanceClock(5_000);
    await revokeAndRead({ token_id: id }, ownCompany.as);
    resetClock();
    await revokeAndRead({ dashboard_id: ownDashboardId }, ownCompany.as);
    expect(await listRevokedSubjects(ownCompany)).toEqual([`dashboard:${ownDashboardId}`, `token:${id}`]);
    expect(await readDashboardStatus(token)).toBe(401);
  });

  it('are deleted when every token has expired that they could have ended', async () => {
    const ownCompany = await createOwnedCompany();
    const ownDashboardId = (await createSalesDashboard(ownCompany)).dashboard._id;
    await revokeAndRead({ dashboard_id: ownDashboardId }, ownCompany.as);
    const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
    advanceClock(YEAR_MS);
    await runScheduled();
    expect(await listRevokedSubjects(ownCompany)).toHaveLength(1);
    advanceClock(YEAR_MS + 25 * 60 * 60 * 1000);
    await runScheduled();
    expect(await listRevokedSubjects(ownCompany)).toEqual([]);
  });

  it('still revoke when a person is erased whom the ids of older versions name', async () => {
    const ownCompany = await createOwnedCompany();
    const ownDashboardId = (await createSalesDashboard(ownCompany)).dashboard._id;
    const makeTokenFor = async (id: string) =>
      (await createEmbedRecord(ownCompany, 'dashboards', ownDashboardId, { viewer: { id, attributes: {} } })).token;
    const tokens = [await makeTokenFor('ana@x.test'), await makeTokenFor('of\nana@x.test')];
    const { id: ownTokenId, token: ownToken } = await makeDashboardToken(ownCompany, ownDashboardId);
    for (const subject of ['viewer:ana@x.test', 'viewer:of\nana@x.test', 'token:ana@x.test', `token:${ownTokenId}`])
      await runSql('insert into embed_revocations select ?, ?, ?', ownCompany.id, subject, Date.now() + 60_000);
    const readStatuses = () => Promise.all([...tokens, ownToken].map((token) => readDashboardStatus(token)));
    expect(await readStatuses()).toEqual([401, 401, 401]);
    // Stored beside the older one, whose time is later.
    await revokeAndRead({ viewer_id: 'ana@x.test' }, ownCompany.as);
    const { body } = await ownCompany.as.delete('/v1/personal-data?email=ana@x.test');
    expect(body.erased.embed_revocations).toBe(3);
    expect(await readStatuses()).toEqual([401, 401, 401]);
    expect(await listRevokedSubjects(ownCompany)).toEqual([
      `token:${ownTokenId}`,
      expect.stringMatching(/^token:sha256:[0-9a-f]{64}$/),
      expect.stringMatching(/^viewer:sha256:[0-9a-f]{64}$/),
      expect.stringMatching(/^viewer:sha256:[0-9a-f]{64}$/),
    ]);
    expect(await readDashboardStatus(await makeTokenFor('ana@x.test'))).toBe(200);
  });

  it('are limited to ten thousand tokens and viewers of a company, but not for whole dashboards', async () => {
    const ownCompany = await createOwnedCompany();
    const ownDashboardId = (await createSalesDashboard(ownCompany)).dashboard._id;
    const { id } = await makeDashboardToken(ownCompany, ownDashboardId);
    await revokeAndRead({ viewer_id: 'known' }, ownCompany.as);
    await revokeAndRead({ dashboard_id: ownDashboardId }, ownCompany.as);
    await runSql(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 9998)
       insert into embed_revocations select ?, 'viewer:v' || i, 1 from n`,
      ownCompany.id,
    );
    const last = await postRevocation({ token_id: id }, ownCompany.as);
    const refusedAnswer = await postRevocation({ viewer_id: 'one more' }, ownCompany.as);
    const repeatedAnswer = await postRevocation({ viewer_id: 'known' }, ownCompany.as);
    const dashboardAnswer = await postRevocation({ dashboard_id: ownDashboardId }, ownCompany.as);
    expect([last, refusedAnswer, repeatedAnswer, dashboardAnswer].map(({ status }) => status)).toEqual([
      204, 422, 204, 204,
    ]);
    expect(JSON.stringify(refusedAnswer.body.details)).toContain('viewer_id');
  });
});
