import { describe, expect, it } from 'vitest';
import { createEmbedToken } from '../embeds/support.ts';
import {
  addContextMember,
  CONTEXTS_PATH,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
} from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { type Caller, callApi } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createConsoleGroup } from '../support/console.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';
import { EVENTS_PATH, expectTypes } from './support.ts';

const company = await createProvisionedCompany();
await createSalesTable(company);
const visualization = await postVisualization(company.as, 'SELECT count(*) FROM sales');
const hiddenDashboard: { _id: string } = await postDashboard(company.as, [visualization], { name: 'Hidden' });
const openDashboard = await postDashboard(company.as, [visualization], { name: 'Open' });
const shares = {
  hiddenShare: await createShare(company, hiddenDashboard._id),
  openShare: await createShare(company, openDashboard._id),
};
for (const { token } of Object.values(shares)) await createShareClient(token).execute();
const context = await createShareContext(company, [
  makeDashboardGrant(hiddenDashboard._id),
  makeDashboardGrant(openDashboard._id),
]);
await addContextMember(company.as, context.id, { member_type: 'external_email', email: 'guest@events.test' });
const ownTypes = ['share.created', 'share.executed'];
await expectTypes(company, '', [...ownTypes, ...ownTypes, 'context.created', 'member.added']);

const createDeniedCaller = async (action: string) => {
  const deniedArns = [`arn:svc:dashboards::${company.id}:dashboard/${hiddenDashboard._id}`];
  return (await createAllowedUser(company, { can: ['*'], denied: [action], deniedArns })).as;
};

describe.each(['dashboards:get', 'dashboards:share'])('events of a dashboard on which %s is denied', (action) => {
  it('are neither listed, counted nor shown, nor are events of a context that grants the dashboard', async () => {
    const as = await createDeniedCaller(action);
    const allEvents = (await expectSuccess(company.as.get(`${EVENTS_PATH}?per_page=100`))).records;
    const body = await expectSuccess(as.get(`${EVENTS_PATH}?per_page=100`));
    expect(body.total).toBe(2);
    expect(body.records.map(({ share_id }: { share_id: string }) => share_id)).toEqual([
      shares.openShare.id,
      shares.openShare.id,
    ]);
    const first = allEvents.find(({ share_id }: { share_id: string }) => share_id === shares.hiddenShare.id);
    expect((await as.get(`${EVENTS_PATH}/${first.id}`)).status).toBe(404);
  });

  it('are neither counted nor named in analytics', async () => {
    const as = await createDeniedCaller(action);
    const body = await expectSuccess(as.get('/api/v1/share-analytics'));
    expect(body.totals.executed).toBe(1);
    expect(body.top.dashboards.map(({ label }: { label: string }) => label)).toEqual(['Open']);
    expect(body.top.shares.map(({ key }: { key: string }) => key)).toEqual([shares.openShare.id]);
    expect(JSON.stringify(body)).not.toContain(hiddenDashboard._id);
  });
});

describe.each(['visualizations:get', 'visualizations:share'])(
  'downloads of a visualization with a Deny of %s',
  (action) => {
    it.each(['share.downloaded', 'embed.downloaded'])('are neither listed nor shown: %s', async (type) => {
      const [secret, open] = [
        await postVisualization(company.as, 'SELECT count(*) FROM sales'),
        await postVisualization(company.as, 'SELECT count(*) FROM sales'),
      ];
      const dashboard = await postDashboard(company.as, [secret, open]);
      const path =
        type === 'share.downloaded'
          ? `public/shares/${(await createShare(company, dashboard._id, { embed_options: { allow_downloads: true } })).token}`
          : `embed/d/${await createEmbedToken(company, 'dashboards', dashboard._id, { allow_downloads: true })}`;
      const prefix = type === 'share.downloaded' ? '/api/v1' : '/api';
      for (const { _id } of [secret, open]) {
        const query = `format=csv&visualization_id=${_id}`;
        const { status } = await callApi('POST', `${prefix}/${path}/execute?${query}`, { json: { parameters: {} } });
        expect(status).toBe(200);
      }
      const isOfDashboard = ({ target_id }: Record<string, unknown>) => target_id === dashboard._id;
      const listEvents = async (as: Caller) =>
        (await expectSuccess(as.get(`${EVENTS_PATH}?per_page=100&type=${type}`))).records;
      await expect.poll(async () => (await listEvents(company.as)).filter(isOfDashboard).length).toBe(2);
      const deniedArns = [`arn:svc:visualizations::${company.id}:visualization/${secret._id}`];
      const { as } = await createAllowedUser(company, { can: ['*'], denied: [action], deniedArns });
      const listVisualizationIds = (events: { details: { visualization_id: string } }[]) =>
        events.map(({ details }) => details.visualization_id);
      expect(listVisualizationIds((await listEvents(as)).filter(isOfDashboard))).toEqual([open._id]);
      const statuses = (await listEvents(company.as))
        .filter(isOfDashboard)
        .map(async ({ id, details }: { id: string; details: { visualization_id: string } }) => [
          details.visualization_id,
          (await as.get(`${EVENTS_PATH}/${id}`)).status,
        ]);
      expect(new Map((await Promise.all(statuses)) as [string, number][])).toEqual(
        new Map([
          [open._id, 200],
          [secret._id, 404],
        ]),
      );
    });
  },
);

describe('events of a member of a share context that is denied to the caller', () => {
  it.each([
    ['a user', 'internal_user', async () => (await createAllowedUser(company)).id, 'users:get', 'users::%:user/'],
    ['a group', 'group', async () => (await createConsoleGroup(company))._id, 'groups:get', 'groups::%:group/'],
  ])('are neither listed nor shown: %s', async (_what, member_type, make, action, kind) => {
    const context = await createShareContext(company, []);
    const member_id = await make();
    await addContextMember(company.as, context.id, { member_type, member_id });
    const path = `${EVENTS_PATH}?share_context_id=${context.id}&type=member.added`;
    await expect.poll(async () => (await expectSuccess(company.as.get(path))).total).toBe(1);
    const [event] = (await expectSuccess(company.as.get(path))).records;
    const deniedArns = [`arn:svc:${kind.replace('%', company.id)}${member_id}`];
    const { as } = await createAllowedUser(company, { can: ['*'], denied: [action], deniedArns });
    expect((await expectSuccess(as.get(path))).total).toBe(0);
    expect((await as.get(`${EVENTS_PATH}/${event.id}`)).status).toBe(404);
  });
});

describe('events of a user or service account that is denied to the caller', () => {
  it.each([
    ['a user', async () => createAllowedUser(company, { can: ['*'] }), 'users:get', 'users::%:user/'],
    [
      'a service account',
      async () => {
        const serviceAccount = await createAllowedAccount(company, makeAllow('*'));
        return { id: serviceAccount.id, as: await createTokenCaller(serviceAccount) };
      },
      'service-accounts:GetServiceAccount',
      'service-accounts::%:service-account/',
    ],
  ])('are neither listed, shown nor counted: %s', async (_what, make, action, kind) => {
    const person = await make();
    const context = await createShareContext({ ...company, as: person.as }, []);
    const path = `${EVENTS_PATH}?share_context_id=${context.id}`;
    await expect.poll(async () => (await expectSuccess(company.as.get(path))).total).toBe(1);
    const [event] = (await expectSuccess(company.as.get(path))).records;
    expect(event.actor.id).toBe(person.id);
    const deniedArns = [`arn:svc:${kind.replace('%', company.id)}${person.id}`];
    const { as } = await createAllowedUser(company, { can: ['*'], denied: [action], deniedArns });
    expect((await expectSuccess(as.get(path))).total).toBe(0);
    expect((await as.get(`${EVENTS_PATH}/${event.id}`)).status).toBe(404);
  });

  it('are neither counted nor named in analytics', async () => {
    const person = await createAllowedUser(company);
    const dashboard = await postDashboard(company.as, []);
    const context = await createShareContext(company, [makeDashboardGrant(dashboard._id)]);
    await addContextMember(company.as, context.id, { member_type: 'internal_user', member_id: person.id });
    await expectSuccess(createPortalClient(person.as, context.id, dashboard._id).execute());
    const readAnalytics = async (as: Caller) =>
      expectSuccess(as.get(`/api/v1/share-analytics?share_context_id=${context.id}`));
    await expect.poll(async () => (await readAnalytics(company.as)).unique_viewers).toBe(1);
    expect((await readAnalytics(company.as)).top.viewers).toEqual([{ key: person.id, label: person.email, count: 1 }]);
    const deniedArns = [`arn:svc:users::${company.id}:user/${person.id}`];
    const { as } = await createAllowedUser(company, { can: ['*'], denied: ['users:get'], deniedArns });
    const { unique_viewers, top } = await readAnalytics(as);
    expect([unique_viewers, top.viewers]).toEqual([0, []]);
  });
});

describe('events of a deleted context', () => {
  it('are not shown to a user who is denied a dashboard or visualization that it granted', async () => {
    const openDashboard = await postDashboard(company.as, []);
    const context = await createShareContext(company, [
      makeDashboardGrant(hiddenDashboard._id),
      makeDashboardGrant(openDashboard._id),
    ]);
    await expectSuccess(company.as.delete(`${CONTEXTS_PATH}/${context.id}`));
    const path = `${EVENTS_PATH}?share_context_id=${context.id}`;
    await expect.poll(async () => (await expectSuccess(company.as.get(path))).total).toBe(2);
    expect((await expectSuccess((await createDeniedCaller('dashboards:get')).get(path))).total).toBe(0);
  });
});
