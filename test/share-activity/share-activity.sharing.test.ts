import { createExecutionContext, createMessageBatch, env, waitOnExecutionContext } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { ShareEvent } from '../../src/sharing/share-event.ts';
import { listFiles, settleLog } from '../company-log/support.ts';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
  signInOutsider,
  verifyCode,
} from '../share-portal/support.ts';
import { createSalesDashboard, createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { type Company, createAllowedUser, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import worker from '../support/worker.ts';
import { postDashboard } from '../visualizations/support.ts';
import { EVENTS_PATH, expectTypes } from './support.ts';

const ANALYTICS_PATH = '/api/v1/share-analytics';

/** Stores events as the consumer of their queue does. */
async function deliverEvents(events: ShareEvent[]): Promise<void> {
  const messages = events.map((body, n) => ({ id: String(n), body, timestamp: new Date(), attempts: 1 }));
  const execution = createExecutionContext();
  await worker.queue(createMessageBatch('data-console-share-events', messages), env, execution);
  await waitOnExecutionContext(execution);
}

const createEvent = (companyId: string, otherFields: Partial<ShareEvent>): ShareEvent => ({
  id: newId(Date.now()),
  companyId,
  type: 'share.executed',
  occurredAt: Date.now(),
  actorKind: 'viewer',
  actorId: null,
  actorEmail: null,
  targetType: 'dashboard',
  targetId: 'd1',
  shareId: 's1',
  shareContextId: null,
  ipCountry: null,
  userAgent: null,
  origin: null,
  correlationId: 'c',
  viewer: 'v1',
  details: {},
  ...otherFields,
});

const company = await createProvisionedCompany();
await createSalesTable(company);
const salesDashboard = await createSalesDashboard(company);
const id = salesDashboard.dashboard._id;
const visualization = salesDashboard.rows._id;

describe('the list of share events', () => {
  it('shows what happened to a share, who did it and from where', async () => {
    const share = await createShare(company, id, { embed_options: { allowed_origins: ['https://partner.test'] } });
    await company.as.put(`/api/v1/dashboard-shares/${share.id}`, { json: { name: 'Renamed' } });
    const headers = { 'user-agent': 'Browser/1.0', 'cf-ipcountry': 'BR', origin: 'https://partner.test' };
    const link = createShareClient(share.token, headers);
    await link.resolve();
    const executed = await link.execute();
    await link.execute({ least: 1 });
    await createShareClient(share.token, { origin: 'https://evil.test' }).execute();
    await company.as.delete(`/api/v1/dashboard-shares/${share.id}`);
    await link.execute();
    const events = await expectTypes(company, `share_id=${share.id}`, [
      'share.created',
      'share.updated',
      'share.resolved',
      'share.executed',
      'share.denied',
      'share.denied',
      'share.denied',
      'share.revoked',
    ]);
    expect(events.find(({ type }) => type === 'share.executed')).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      type: 'share.executed',
      occurred_at: expect.any(String),
      actor: { kind: 'viewer', id: null, email: null },
      target_type: 'dashboard',
      target_id: id,
      share_id: share.id,
      share_context_id: null,
      ip_country: 'BR',
      user_agent: 'Browser/1.0',
      origin: 'https://partner.test',
      correlation_id: executed.headers.get('x-correlation-id'),
      details: {},
    });
    const reasons = events.filter(({ type }) => type === 'share.denied').map(({ details }) => details);
    expect(reasons).toEqual(
      expect.arrayContaining([
        { reason: 'sharing.policy_violation' },
        { reason: 'share.origin_not_allowed' },
        { reason: 'token.invalid' },
      ]),
    );
    const created = events.find(({ type }) => type === 'share.created');
    expect(created).toMatchObject({ actor: { kind: 'user', id: company.owner.id, email: company.owner.email } });
    const occurrenceTimes = events.map(({ occurred_at }) => occurred_at as string);
    expect(occurrenceTimes).toEqual(occurrenceTimes.toSorted().reverse());
    expect((await company.as.get(`${EVENTS_PATH}/${created?.id}`)).body).toEqual(created);
    const typeAnswer = await company.as.get(`${EVENTS_PATH}?share_id=${share.id}&type=share.denied`);
    expect(typeAnswer.body.total).toBe(3);
    const laterAnswer = await company.as.get(`${EVENTS_PATH}?share_id=${share.id}&from=2099-01-01T00:00:00Z`);
    expect(laterAnswer.body.total).toBe(0);
  });

  it('shows that shares were revoked with their dashboard or context, each once', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const context = await createShareContext(company, [makeDashboardGrant(id), makeDashboardGrant(dashboard._id)]);
    const contextQuery = { share_context_id: context.id };
    const shares = {
      ended: await createShare(company, dashboard._id),
      withDashboard: await createShare(company, dashboard._id, { ...contextQuery, name: 'Of both' }),
      withContext: await createShare(company, id, contextQuery),
      staying: await createShare(company, id),
    };
    await expectSuccess(company.as.delete(`/api/v1/dashboard-shares/${shares.ended.id}`));
    await expectSuccess(company.as.delete(`/v1/dashboards/${dashboard._id}`));
    const [told] = await expectTypes(company, `share_id=${shares.withDashboard.id}&type=share.revoked`, [
      'share.revoked',
    ]);
    expect(told).toMatchObject({
      actor: { kind: 'user', id: company.owner.id, email: company.owner.email },
      target_type: 'dashboard',
      target_id: dashboard._id,
      share_context_id: context.id,
      details: { name: 'Of both' },
    });
    await expectSuccess(company.as.delete(`${CONTEXTS_PATH}/${context.id}`));
    await expectSuccess(company.as.delete(`/api/v1/dashboard-shares/${shares.withDashboard.id}`));
    await expectTypes(company, `share_id=${shares.withContext.id}`, ['share.created', 'share.revoked']);
    for (const share of [shares.ended, shares.withDashboard])
      await expectTypes(company, `share_id=${share.id}`, ['share.created', 'share.revoked']);
    await expectTypes(company, `share_id=${shares.staying.id}`, ['share.created']);
  });

  it('shows that each of a thousand shares was revoked with their dashboard, with few queries', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const share = await createShare(company, dashboard._id);
    const columns = Object.keys((await selectRow('select * from dashboard_shares where id = ?', share.id)) ?? {});
    const otherColumns = { id: 'lower(hex(randomblob(12)))', token_digest: 'lower(hex(randomblob(32)))' };
    const values = columns.map((column) => otherColumns[column as keyof typeof otherColumns] ?? column);
    await runSql(
      `insert into dashboard_shares (${columns}) select ${values} from dashboard_shares, (select value as n from json_each(?)) where id = ?`,
      JSON.stringify(Array(1000).fill(0)),
      share.id,
    );
    const countRecords = async () => (await company.as.get(`${EVENTS_PATH}?type=share.revoked`)).body.total;
    const totalBefore = await countRecords();
    const countingD1 = createCountingD1();
    await expectSuccess(company.as.delete(`/v1/dashboards/${dashboard._id}`, { env: countingD1.env }));
    await expect.poll(countRecords, { timeout: 10_000 }).toBe(totalBefore + 1001);
    await expect.poll(() => countRows('outbox where company_id = ?', company.id)).toBe(0);
    expect(countingD1.countCalls()).toBeLessThan(20);
  });

  it('shows once that a share was revoked whose dashboard was deleted at the same time', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const share = await createShare(company, dashboard._id);
    const { status } = await sendDuringRace(
      /^update "dashboard_shares"/,
      () => expectSuccess(company.as.delete(`/v1/dashboards/${dashboard._id}`)),
      (env) => company.as.delete(`/api/v1/dashboard-shares/${share.id}`, { env }),
    );
    expect(status).toBe(204);
    await expectTypes(company, `share_id=${share.id}`, ['share.created', 'share.revoked']);
  });

  it('shows what happened to a context, its members and outsiders', async () => {
    const email = 'ana@partner.test';
    const context = await createShareContext(company, [makeDashboardGrant(id)], [email]);
    await company.as.put(`${CONTEXTS_PATH}/${context.id}`, { json: { name: 'Partners' } });
    await verifyCode(company, email, '0000-0000');
    const { as, tokens } = await signInOutsider(company, email);
    const portal = createPortalClient(as, context.id, id);
    await portal.get();
    await portal.execute();
    await portal.execute({ least: 1 });
    const extraMember = await addContextMember(company.as, context.id, {
      member_type: 'external_email',
      email: 'b@c.test',
    });
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}/members/${extraMember.id}`);
    await company.as.put(`${CONTEXTS_PATH}/${context.id}/grants`, { json: { grants: [makeDashboardGrant(id)] } });
    await company.as.delete(`${CONTEXTS_PATH}/${context.id}`);
    const events = await expectTypes(company, `share_context_id=${context.id}`, [
      'context.created',
      'member.added',
      'context.updated',
      'share.resolved',
      'share.executed',
      'share.denied',
      'member.added',
      'member.removed',
      'context.grants_updated',
      'context.deleted',
    ]);
    expect(events.find(({ type }) => type === 'context.updated')?.details).toEqual({ name: 'Partners' });
    const executedEvent = events.find(({ type }) => type === 'share.executed');
    expect(executedEvent?.actor).toEqual({ kind: 'external', id: tokens.user.id, email });
    const authEvents = await company.as.get(`${EVENTS_PATH}?per_page=100`);
    const signInEvents = authEvents.body.records.filter(
      ({ target_type }: { target_type: unknown }) => target_type === null,
    );
    const eventsOfAna = signInEvents.filter(({ actor }: { actor: { email: string } }) => actor.email === email);
    expect(eventsOfAna.map(({ type }: { type: string }) => type).sort()).toEqual([
      'auth.code_requested',
      'auth.failed',
      'auth.verified',
    ]);
    expect(JSON.stringify(authEvents.body)).not.toMatch(/\d{4}-\d{4}"/);
  });

  it('includes events of embeds', async () => {
    const token = await createEmbedToken(company, 'visualizations', visualization, { allowed_params: ['region'] });
    const embed = createEmbedClient('v', token);
    await embed.info();
    await embed.execute();
    await embed.execute({ regions: ['north'] });
    await company.as.post('/api/v1/embed/rotate-key');
    await embed.execute();
    await expectTypes(company, 'target_type=visualization', [
      'embed.generated',
      'embed.executed',
      'embed.denied',
      'embed.denied',
    ]);
    const { body } = await company.as.get(`${EVENTS_PATH}?type=embed.key_rotated`);
    expect(body.records).toMatchObject([{ target_type: null, actor: { kind: 'user' } }]);
    const allEvents = await company.as.get(`${EVENTS_PATH}?per_page=100`);
    expect(JSON.stringify(allEvents.body)).not.toContain(token);
  });

  it('shows an event once, however often it is delivered, and no malformed event', async () => {
    const { id: companyId, as } = await createOwnedCompany();
    const event = createEvent(companyId, {});
    await deliverEvents([event, event, { nonsense: true } as never, createEvent(companyId, {})]);
    await deliverEvents([event]);
    expect((await as.get(EVENTS_PATH)).body.total).toBe(2);
  });

  it('has no events of another company', async () => {
    const other = await createOwnedCompany();
    expect((await other.as.get(EVENTS_PATH)).body).toEqual({ total: 0, page: 1, per_page: 20, records: [] });
    const { body } = await company.as.get(`${EVENTS_PATH}?per_page=1`);
    expect((await other.as.get(`${EVENTS_PATH}/${body.records[0].id}`)).status).toBe(404);
    expect((await company.as.get(`${EVENTS_PATH}/${'0'.repeat(24)}`)).body.error_code).toBe('NOT_FOUND');
  });
});

describe('the permission to read share events', () => {
  it('requires the permission to share the dashboards and visualizations that the filters name', async () => {
    const company = await createOwnedCompany();
    const { dashboard, rows } = await createSalesDashboard(company);
    const share = await createShare(company, dashboard._id);
    const grants = { dashboard: [makeDashboardGrant(dashboard._id)], visualization: [] as unknown[] };
    grants.visualization = [{ target_type: 'visualization', target_id: rows._id }];
    const contexts = {
      dashboard: (await createShareContext(company, grants.dashboard as never)).id,
      visualization: (await createShareContext(company, grants.visualization as never)).id,
      mixed: (await createShareContext(company, [...grants.dashboard, ...grants.visualization] as never)).id,
    };
    const events = [
      createEvent(company.id, { targetType: 'dashboard', shareContextId: contexts.dashboard }),
      createEvent(company.id, { targetType: 'visualization', shareContextId: contexts.dashboard }),
      createEvent(company.id, { targetType: null, targetId: null, shareId: null, type: 'auth.verified' }),
    ];
    await deliverEvents(events);
    const [ofDashboard, ofVisualization, ofNone] = events.map((event) => event.id) as [string, string, string];
    const queries = {
      '': ['both'],
      'target_type=dashboard': ['both', 'dashboards'],
      'target_type=visualization': ['both', 'visualizations'],
      [`share_id=${share.id}`]: ['both', 'dashboards'],
      'share_id=nothing': ['both', 'dashboards'],
      [`share_context_id=${contexts.dashboard}`]: ['both', 'dashboards'],
      [`share_context_id=${contexts.visualization}`]: ['both', 'visualizations'],
      [`share_context_id=${contexts.mixed}`]: ['both'],
      'share_context_id=nothing': ['both'],
    };
    const callers = {
      both: (await createAllowedUser(company, { can: ['dashboards:share', 'visualizations:share'] })).as,
      dashboards: (await createAllowedUser(company, { can: ['dashboards:share'] })).as,
      visualizations: (await createAllowedUser(company, { can: ['visualizations:share'] })).as,
      neither: (await createAllowedUser(company, { can: ['dashboards:list'] })).as,
    };
    for (const [who, as] of Object.entries(callers)) {
      for (const [query, allowed] of Object.entries(queries)) {
        const expectedStatus = allowed.includes(who) ? 200 : 403;
        for (const path of [EVENTS_PATH, ANALYTICS_PATH]) {
          expect([who, path, query, (await as.get(`${path}?${query}`)).status]).toEqual([
            who,
            path,
            query,
            expectedStatus,
          ]);
        }
      }
    }
    const readEvent = async (as: Company['as'], id: string) => (await as.get(`${EVENTS_PATH}/${id}`)).status;
    expect(await readEvent(callers.dashboards, ofDashboard)).toBe(200);
    expect(await readEvent(callers.dashboards, ofVisualization)).toBe(403);
    expect(await readEvent(callers.dashboards, ofNone)).toBe(403);
    expect(await readEvent(callers.both, ofNone)).toBe(200);
    expect(await readEvent(callers.neither, '0'.repeat(24))).toBe(403);
    // Events from when the context showed something else are shown to those who may see that.
    const query = `share_context_id=${contexts.dashboard}&per_page=100`;
    const listEvents = async (as: Company['as']) => (await as.get(`${EVENTS_PATH}?${query}`)).body.records;
    const listTargetTypes = (records: { target_type: string }[]) =>
      new Set(records.map(({ target_type }) => target_type));
    expect(listTargetTypes(await listEvents(callers.dashboards))).toEqual(new Set(['dashboard']));
    expect(listTargetTypes(await listEvents(callers.both))).toEqual(new Set(['dashboard', 'visualization']));
  });

  it('for a context requires the permission to share what the context grants, also for events from before it granted anything', async () => {
    const company = await createOwnedCompany();
    const dashboard = await postDashboard(company.as, []);
    const { id } = await createShareContext(company, []);
    await expectSuccess(
      company.as.put(`${CONTEXTS_PATH}/${id}/grants`, { json: { grants: [makeDashboardGrant(dashboard._id)] } }),
    );
    const { as } = await createAllowedUser(company, { can: ['dashboards:share'] });
    const query = `share_context_id=${id}`;
    await expectTypes(company, query, ['context.created', 'context.grants_updated']);
    const events = await expectTypes({ as }, query, ['context.created', 'context.grants_updated']);
    const created = events.find(({ target_type }) => target_type === null);
    expect((await as.get(`${EVENTS_PATH}/${created?.id}`)).body).toEqual(created);
  });
});

describe('share analytics', () => {
  const parseTime = (text: string) => Date.parse(text);

  it('count views by interval, and name the most frequently viewed targets', async () => {
    const company = await createOwnedCompany();
    const { dashboard } = await createSalesDashboard(company);
    const share = await createShare(company, dashboard._id, { name: 'Partners' });
    const createView = (occurredAt: string, otherFields: Partial<ShareEvent>) =>
      createEvent(company.id, {
        occurredAt: parseTime(occurredAt),
        shareId: share.id,
        targetId: dashboard._id,
        ipCountry: 'BR',
        ...otherFields,
      });
    await deliverEvents([
      createView('2024-03-04T00:00:00Z', { viewer: 'a', type: 'share.resolved' }),
      createView('2024-03-04T10:00:00Z', { viewer: 'a' }),
      createView('2024-03-04T23:59:59.999Z', { viewer: 'b', ipCountry: 'PT' }),
      createView('2024-03-05T00:00:00Z', { viewer: 'a', type: 'embed.executed', shareId: null }),
      createView('2024-03-05T01:00:00Z', { viewer: 'c', type: 'share.denied' }),
      createView('2024-03-07T12:00:00Z', { viewer: 'd', actorKind: 'external', actorId: 'd', actorEmail: 'd@x.test' }),
      createView('2024-03-07T12:30:00Z', { viewer: 'd', actorKind: 'external', actorId: 'd', actorEmail: 'd@x.test' }),
      createView('2024-03-11T00:00:00Z', { viewer: 'a' }),
      createView('2024-03-04T10:00:00Z', { type: 'context.updated' }),
    ]);
    const readAnalytics = async (query: string) => (await company.as.get(`${ANALYTICS_PATH}?${query}`)).body;
    const weekQuery = 'from=2024-03-04T00:00:00Z&to=2024-03-10T23:59:59.999Z';
    const zeroCounts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };
    const dailyAnalytics = await readAnalytics(weekQuery);
    expect([dailyAnalytics.totals, dailyAnalytics.unique_viewers]).toEqual([
      { resolved: 1, executed: 5, denied: 1 },
      3,
    ]);
    expect(dailyAnalytics.series).toEqual([
      { start: '2024-03-04T00:00:00.000Z', resolved: 1, executed: 2, denied: 0, unique_viewers: 2 },
      { start: '2024-03-05T00:00:00.000Z', resolved: 0, executed: 1, denied: 1, unique_viewers: 1 },
      { start: '2024-03-06T00:00:00.000Z', ...zeroCounts },
      { start: '2024-03-07T00:00:00.000Z', resolved: 0, executed: 2, denied: 0, unique_viewers: 1 },
      ...['08', '09', '10'].map((day) => ({ start: `2024-03-${day}T00:00:00.000Z`, ...zeroCounts })),
    ]);
    expect(dailyAnalytics.top).toEqual({
      shares: [{ key: share.id, label: 'Partners', count: 4 }],
      dashboards: [{ key: dashboard._id, label: 'Overview', count: 5 }],
      viewers: [
        { key: 'a', label: 'anonymous', count: 2 },
        { key: 'd', label: 'd@x.test', count: 2 },
        { key: 'b', label: 'anonymous', count: 1 },
      ],
      countries: [
        { key: 'BR', label: 'BR', count: 4 },
        { key: 'PT', label: 'PT', count: 1 },
      ],
    });
    // Weeks begin on Monday.
    const weeklyAnalytics = await readAnalytics('from=2024-03-06T00:00:00Z&to=2024-03-11T00:00:00Z&interval=week');
    expect(
      weeklyAnalytics.series.map(({ start, executed }: { start: string; executed: number }) => [start, executed]),
    ).toEqual([
      ['2024-03-04T00:00:00.000Z', 2],
      ['2024-03-11T00:00:00.000Z', 1],
    ]);
    const hourlyAnalytics = await readAnalytics('from=2024-03-04T09:30:00Z&to=2024-03-04T10:30:00Z&interval=hour');
    expect(hourlyAnalytics.series.map(({ executed }: { executed: number }) => executed)).toEqual([0, 1]);
    expect((await readAnalytics(`${weekQuery}&share_id=${share.id}`)).totals.executed).toBe(4);
    const { totals, unique_viewers } = await readAnalytics(`${weekQuery}&share_id=nothing`);
    expect({ ...totals, unique_viewers }).toEqual(zeroCounts);
    expect((await readAnalytics('')).series).toHaveLength(31);
  });

  it('include days that were moved out of the log, also where an interval begins in them', async () => {
    const { id, as } = await createOwnedCompany();
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const createView = (daysAgo: number, viewer: string) =>
      createEvent(id, { occurredAt: today - daysAgo * DAY_MS, viewer });
    await deliverEvents([
      createView(120, 'a'),
      createView(120, 'b'),
      createView(100, 'a'),
      createView(91, 'a'),
      createView(89, 'a'),
      createView(5, 'c'),
    ]);
    const from = new Date(today - 125 * DAY_MS).toISOString();
    const readAnalytics = async () =>
      (await as.get(`${ANALYTICS_PATH}?from=${from}&interval=week&time_zone=Asia/Tokyo`)).body;
    const analyticsBefore = await readAnalytics();
    expect([analyticsBefore.totals.executed, analyticsBefore.unique_viewers]).toEqual([6, 3]);
    await settleLog(id);
    expect(await listFiles(id)).toHaveLength(3);
    expect(await readAnalytics()).toEqual(analyticsBefore);
  });

  it('have the days, hours and weeks of a time zone, also where its clock changes', async () => {
    const { id, as } = await createOwnedCompany();
    const createView = (occurredAt: string, viewer: string) =>
      createEvent(id, { occurredAt: parseTime(occurredAt), viewer });
    await deliverEvents([
      createView('2026-10-31T03:59:59.999Z', 'a'),
      createView('2026-10-31T04:00:00Z', 'a'),
      createView('2026-11-01T03:59:59.999Z', 'b'),
      // A day of 25 hours, one o'clock twice.
      createView('2026-11-01T04:00:00Z', 'a'),
      createView('2026-11-01T05:30:00Z', 'a'),
      createView('2026-11-01T06:30:00Z', 'a'),
      createView('2026-11-02T04:59:59.999Z', 'c'),
      createView('2026-11-02T05:00:00Z', 'a'),
    ]);
    const readAnalytics = async (query: string) =>
      (await as.get(`${ANALYTICS_PATH}?${query}&time_zone=America/New_York`)).body.series.map(
        ({ start, executed, unique_viewers }: Record<string, unknown>) => [start, executed, unique_viewers],
      );
    expect(await readAnalytics('from=2026-10-31T04:00:00Z&to=2026-11-02T12:00:00Z')).toEqual([
      ['2026-10-31T04:00:00.000Z', 2, 2],
      ['2026-11-01T04:00:00.000Z', 4, 2],
      ['2026-11-02T05:00:00.000Z', 1, 1],
    ]);
    expect(await readAnalytics('interval=hour&from=2026-11-01T05:00:00Z&to=2026-11-01T07:00:00Z')).toEqual([
      ['2026-11-01T05:00:00.000Z', 1, 1],
      ['2026-11-01T06:00:00.000Z', 1, 1],
      ['2026-11-01T07:00:00.000Z', 0, 0],
    ]);
    expect(await readAnalytics('interval=week&from=2026-10-31T03:00:00Z&to=2026-11-02T05:00:00Z')).toEqual([
      ['2026-10-26T04:00:00.000Z', 7, 3],
      ['2026-11-02T05:00:00.000Z', 1, 1],
    ]);
  });

  it.each([
    ['an unknown time zone', 'time_zone=Mars/Olympus'],
    ['a UTC offset', 'time_zone=%2B03:00'],
    ['an empty time zone', 'time_zone='],
    ['more intervals than one answer holds', 'from=2020-01-01T00:00:00Z&to=2024-01-01T00:00:00Z&interval=hour'],
    ['an end before the beginning', 'from=2024-01-02T00:00:00Z&to=2024-01-01T00:00:00Z'],
  ])('refuse %s', async (_what, query) => {
    expect((await company.as.get(`${ANALYTICS_PATH}?${query}`)).status).toBe(422);
  });
});
