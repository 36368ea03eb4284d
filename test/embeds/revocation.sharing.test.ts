import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectTypes } from '../share-activity/support.ts';
import { aSalesDashboard } from '../shares/support.ts';
import { advanceClock, resetClock, runScheduled, stopClockAt } from '../support/clock.ts';
import { createCountingD1 } from '../support/counted.ts';
import { sendOvertaken } from '../support/rival.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { makeEmbed, makeEmbedRoutes, REVOCATION_PATH, readStatus } from './support.ts';

let company: Company;
let dashboard: string;
let visualization: string;
beforeAll(async () => {
  company = await aCompany();
  const made = await aSalesDashboard(company);
  dashboard = made.dashboard._id;
  visualization = made.rows._id;
});
afterEach(resetClock);

const makeDashboardToken = (of = company, id = dashboard) => makeEmbed(of, 'dashboards', id);
const makeVisualizationToken = () => makeEmbed(company, 'visualizations', visualization);
const postRevocation = (json: unknown, as = company.as, more = {}) => as.post(REVOCATION_PATH, { json, ...more });
const revokeAndRead = async (json: unknown, as = company.as) =>
  expect((await postRevocation(json, as)).status).toBe(204);
const readDashboardStatus = (token: string) => readStatus('d', token);
const readVisualizationStatus = (token: string) => readStatus('v', token);
const countRevocations = async ({ id }: Company): Promise<string[]> => {
  const { results } = await env.CONTROL_DB.prepare(
    'select subject from embed_revocations where company_id = ? order by 1',
  )
    .bind(id)
    .all<{ subject: string }>();
  return results.map(({ subject }) => subject);
};

describe('a revocation of embed tokens', () => {
  it('by token id ends that token alone, on the next request', async () => {
    const [one, other] = [await makeDashboardToken(), await makeDashboardToken()];
    await revokeAndRead({ token_id: one.id });
    const embed = makeEmbedRoutes('d', one.token);
    for (const { status, body } of [await embed.info(), await embed.options('regions'), await embed.execute()]) {
      expect([status, body.error_code]).toEqual([401, 'TOKEN_INVALID']);
    }
    expect(await readDashboardStatus(other.token)).toBe(200);
    await revokeAndRead({ token_id: one.id });
  });

  it('by dashboard ends the earlier tokens of that dashboard, and no others', async () => {
    const own = await aSalesDashboard(company);
    const before = [
      await makeDashboardToken(company, own.dashboard._id),
      await makeDashboardToken(company, own.dashboard._id),
    ];
    const [elsewhere, alone] = [await makeDashboardToken(), await makeEmbed(company, 'visualizations', own.rows._id)];
    await revokeAndRead({ dashboard_id: own.dashboard._id });
    for (const { token } of before) expect(await readDashboardStatus(token)).toBe(401);
    expect([await readDashboardStatus(elsewhere.token), await readVisualizationStatus(alone.token)]).toEqual([
      200, 200,
    ]);
    expect(await readDashboardStatus((await makeDashboardToken(company, own.dashboard._id)).token)).toBe(200);
  });

  it('by visualization ends its own tokens, but not those of a dashboard with it', async () => {
    const [alone, onDashboard] = [await makeVisualizationToken(), await makeDashboardToken()];
    await revokeAndRead({ visualization_id: visualization });
    expect([await readVisualizationStatus(alone.token), await readDashboardStatus(onDashboard.token)]).toEqual([
      401, 200,
    ]);
    expect(await readVisualizationStatus((await makeVisualizationToken()).token)).toBe(200);
  });

  it('ends tokens of the same millisecond before it, and none made after it', async () => {
    const own = (await aSalesDashboard(company)).dashboard._id;
    const now = Date.now();
    stopClockAt(now);
    const before = await makeDashboardToken(company, own);
    await revokeAndRead({ dashboard_id: own });
    // The clock of the machine that makes this one is a second late.
    stopClockAt(now - 1_000);
    const after = await makeDashboardToken(company, own);
    stopClockAt(now);
    expect([await readDashboardStatus(before.token), await readDashboardStatus(after.token)]).toEqual([401, 200]);
    // Neither is anything made alive again by a clock that is late.
    stopClockAt(now - 5_000);
    await revokeAndRead({ dashboard_id: own });
    stopClockAt(now);
    expect([await readDashboardStatus(before.token), await readDashboardStatus(after.token)]).toEqual([401, 200]);
  });

  it('ends a token whose creation began before it', async () => {
    const own = (await aSalesDashboard(company)).dashboard._id;
    const answer = await sendOvertaken(
      /update "dashboards"/i,
      () => revokeAndRead({ dashboard_id: own }),
      (changed) => company.as.post(`/api/v1/embed/dashboards/${own}`, { json: {}, env: changed }),
    );
    expect([answer.status, await readDashboardStatus(answer.body.token)]).toEqual([201, 401]);
  });

  it('has no effect on another company', async () => {
    const other = await aCompany();
    const theirs = (await aSalesDashboard(other)).dashboard._id;
    const token = await makeDashboardToken(other, theirs);
    for (const json of [{ token_id: token.id }, { dashboard_id: theirs }]) {
      const { status, body } = await postRevocation(json);
      expect([status, body.error_code]).toEqual([404, 'NOT_FOUND']);
    }
    await revokeAndRead({ viewer_id: 'somebody' });
    await env.CONTROL_DB.prepare('insert into embed_revocations select ?, ?, ?')
      .bind(company.id, `token:${token.id}`, Date.now() + 60_000)
      .run();
    expect(await readDashboardStatus(token.token)).toBe(200);
  });

  it.each([
    ['no field', {}, 'token_id'],
    ['two fields', { token_id: 'x', viewer_id: 'y' }, 'viewer_id'],
    ['all fields', { token_id: 'x', dashboard_id: 'd', visualization_id: 'v', viewer_id: 'y' }, 'dashboard_id'],
    ['a number as id', { token_id: 7 }, 'token_id'],
    ['an empty id', { viewer_id: '' }, 'viewer_id'],
    ['null as id', { token_id: null }, 'token_id'],
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
      const { as } = await aUser(company, { can: [...can] });
      expect([can, (await postRevocation({ token_id: 'of-a-host' }, as)).status]).toEqual([can, status]);
    }
  });

  it('is logged as an event about the dashboard or visualization of the tokens', async () => {
    const own = await aCompany();
    const made = await aSalesDashboard(own);
    const { id } = await makeDashboardToken(own, made.dashboard._id);
    for (const json of [{ token_id: id }, { visualization_id: made.rows._id }, { viewer_id: 'u1' }]) {
      await revokeAndRead(json, own.as);
    }
    const events = await expectTypes(own, 'type=embed.revoked', Array(3).fill('embed.revoked'));
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ target_type: null, target_id: null, details: { viewer_id: 'u1' } }),
        expect.objectContaining({ target_type: 'visualization', target_id: made.rows._id, details: {} }),
        expect.objectContaining({ target_type: 'dashboard', target_id: made.dashboard._id, details: { token_id: id } }),
      ]),
    );
  });
});

describe('the stored revocations of embed tokens', () => {
  it('cost no query: they are read with the token’s target', async () => {
    const { token } = await makeDashboardToken();
    for (const [kind, of] of [
      ['d', token],
      ['v', (await makeVisualizationToken()).token],
    ] as const) {
      const counted = createCountingD1();
      expect((await makeEmbedRoutes(kind, of).info({ env: counted.env })).status).toBe(200);
      expect(counted.calls()).toBe(1);
    }
  });

  it('are one row each; that of a dashboard replaces those of its tokens', async () => {
    const own = await aCompany();
    const [one, other] = [await aSalesDashboard(own), await aSalesDashboard(own)];
    const tokens = [];
    for (const { dashboard: shown } of [one, one, other]) tokens.push(await makeDashboardToken(own, shown._id));
    for (const { id } of tokens) await revokeAndRead({ token_id: id }, own.as);
    await revokeAndRead({ token_id: tokens[0]?.id }, own.as);
    const foreign = await aCompany();
    await env.CONTROL_DB.prepare(
      'insert into embed_revocations select ?, subject, revoked_at from embed_revocations where company_id = ?',
    )
      .bind(foreign.id, own.id)
      .run();
    expect(await countRevocations(own)).toHaveLength(3);
    await revokeAndRead({ dashboard_id: one.dashboard._id }, own.as);
    expect(await countRevocations(own)).toEqual([`dashboard:${one.dashboard._id}`, `token:${tokens[2]?.id}`]);
    for (const { token } of tokens) expect(await readDashboardStatus(token)).toBe(401);
    expect(await countRevocations(foreign)).toHaveLength(3);
  });

  it('keep a revocation of a token that is later than that of its dashboard', async () => {
    const own = await aCompany();
    const shown = (await aSalesDashboard(own)).dashboard._id;
    const { id, token } = await makeDashboardToken(own, shown);
    advanceClock(5_000);
    await revokeAndRead({ token_id: id }, own.as);
    resetClock();
    await revokeAndRead({ dashboard_id: shown }, own.as);
    expect(await countRevocations(own)).toEqual([`dashboard:${shown}`, `token:${id}`]);
    expect(await readDashboardStatus(token)).toBe(401);
  });

  it('are deleted when every token has expired that they could have ended', async () => {
    const own = await aCompany();
    const shown = (await aSalesDashboard(own)).dashboard._id;
    await revokeAndRead({ dashboard_id: shown }, own.as);
    const year = 365 * 24 * 60 * 60 * 1000;
    advanceClock(year);
    await runScheduled();
    expect(await countRevocations(own)).toHaveLength(1);
    advanceClock(year + 25 * 60 * 60 * 1000);
    await runScheduled();
    expect(await countRevocations(own)).toEqual([]);
  });

  it('are limited to ten thousand tokens and viewers of a company, but not for whole dashboards', async () => {
    const own = await aCompany();
    const shown = (await aSalesDashboard(own)).dashboard._id;
    const { id } = await makeDashboardToken(own, shown);
    await env.CONTROL_DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 9999)
       insert into embed_revocations select ?, 'viewer:v' || i, 1 from n`,
    )
      .bind(own.id)
      .run();
    const last = await postRevocation({ token_id: id }, own.as);
    const refused = await postRevocation({ viewer_id: 'one more' }, own.as);
    const repeated = await postRevocation({ viewer_id: 'v1' }, own.as);
    const whole = await postRevocation({ dashboard_id: shown }, own.as);
    expect([last, refused, repeated, whole].map(({ status }) => status)).toEqual([204, 422, 204, 204]);
    expect(JSON.stringify(refused.body.details)).toContain('viewer_id');
  });
});
