import { beforeAll, describe, expect, it } from 'vitest';
import { createEmbed } from '../embeds/support.ts';
import { aContext, aMember, CONTEXTS_PATH, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aShare, linkOf, someSales } from '../shares/support.ts';
import { type Caller, call } from '../support/api.ts';
import { createConsoleGroup } from '../support/console.ts';
import { allow, aServiceAccountThat, must, withServiceToken } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';
import { EVENTS_PATH, expectTypes } from './support.ts';

let company: Company;
let hidden: { _id: string };
let shares: { hidden: { id: string; token: string }; open: { id: string; token: string } };
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
  const visualization = await aVisualization(company.as, 'SELECT count(*) FROM sales');
  hidden = await aDashboard(company.as, [visualization], { name: 'Hidden' });
  const open = await aDashboard(company.as, [visualization], { name: 'Open' });
  shares = { hidden: await aShare(company, hidden._id), open: await aShare(company, open._id) };
  for (const { token } of Object.values(shares)) await linkOf(token).execute();
  const context = await aContext(company, [dashboardGrant(hidden._id), dashboardGrant(open._id)]);
  await aMember(company.as, context.id, { member_type: 'external_email', email: 'guest@events.test' });
  const own = ['share.created', 'share.executed'];
  await expectTypes(company, '', [...own, ...own, 'context.created', 'member.added']);
});

const denied = async (action: string) => {
  const deniedOn = [`arn:svc:dashboards::${company.id}:dashboard/${hidden._id}`];
  return (await aUser(company, { can: ['*'], denied: [action], deniedOn })).as;
};

describe.each(['dashboards:get', 'dashboards:share'])('events of a dashboard on which %s is denied', (action) => {
  it('are neither listed, counted nor shown, nor are those of a context that grants it', async () => {
    const as = await denied(action);
    const all = (await must(company.as.get(`${EVENTS_PATH}?per_page=100`))).records;
    const body = await must(as.get(`${EVENTS_PATH}?per_page=100`));
    expect(body.total).toBe(2);
    expect(body.records.map(({ share_id }: { share_id: string }) => share_id)).toEqual([
      shares.open.id,
      shares.open.id,
    ]);
    const first = all.find(({ share_id }: { share_id: string }) => share_id === shares.hidden.id);
    expect((await as.get(`${EVENTS_PATH}/${first.id}`)).status).toBe(404);
  });

  it('are neither counted nor named in analytics', async () => {
    const as = await denied(action);
    const body = await must(as.get('/api/v1/share-analytics'));
    expect(body.totals.executed).toBe(1);
    expect(body.top.dashboards.map(({ label }: { label: string }) => label)).toEqual(['Open']);
    expect(body.top.shares.map(({ key }: { key: string }) => key)).toEqual([shares.open.id]);
    expect(JSON.stringify(body)).not.toContain(hidden._id);
  });
});

describe.each(['visualizations:get', 'visualizations:share'])(
  'downloads of a visualization with a Deny of %s',
  (action) => {
    it.each(['share.downloaded', 'embed.downloaded'])('are neither listed nor shown: %s', async (type) => {
      const [secret, open] = [
        await aVisualization(company.as, 'SELECT count(*) FROM sales'),
        await aVisualization(company.as, 'SELECT count(*) FROM sales'),
      ];
      const dashboard = await aDashboard(company.as, [secret, open]);
      const path =
        type === 'share.downloaded'
          ? `public/shares/${(await aShare(company, dashboard._id, { embed_options: { allow_downloads: true } })).token}`
          : `embed/d/${await createEmbed(company, 'dashboards', dashboard._id, { allow_downloads: true })}`;
      const prefix = type === 'share.downloaded' ? '/api/v1' : '/api';
      for (const { _id } of [secret, open]) {
        const query = `format=csv&visualization_id=${_id}`;
        const { status } = await call('POST', `${prefix}/${path}/execute?${query}`, { json: { parameters: {} } });
        expect(status).toBe(200);
      }
      const isOfIt = ({ target_id }: Record<string, unknown>) => target_id === dashboard._id;
      const list = async (as: Caller) => (await must(as.get(`${EVENTS_PATH}?per_page=100&type=${type}`))).records;
      await expect.poll(async () => (await list(company.as)).filter(isOfIt).length).toBe(2);
      const deniedOn = [`arn:svc:visualizations::${company.id}:visualization/${secret._id}`];
      const { as } = await aUser(company, { can: ['*'], denied: [action], deniedOn });
      const idsOf = (events: { details: { visualization_id: string } }[]) =>
        events.map(({ details }) => details.visualization_id);
      expect(idsOf((await list(as)).filter(isOfIt))).toEqual([open._id]);
      const statuses = (await list(company.as))
        .filter(isOfIt)
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
    ['a user', 'internal_user', async () => (await aUser(company)).id, 'users:get', 'users::%:user/'],
    ['a group', 'group', async () => (await createConsoleGroup(company))._id, 'groups:get', 'groups::%:group/'],
  ])('are neither listed nor shown: %s', async (_what, member_type, make, action, kind) => {
    const context = await aContext(company, []);
    const member_id = await make();
    await aMember(company.as, context.id, { member_type, member_id });
    const path = `${EVENTS_PATH}?share_context_id=${context.id}&type=member.added`;
    await expect.poll(async () => (await must(company.as.get(path))).total).toBe(1);
    const [event] = (await must(company.as.get(path))).records;
    const deniedOn = [`arn:svc:${kind.replace('%', company.id)}${member_id}`];
    const { as } = await aUser(company, { can: ['*'], denied: [action], deniedOn });
    expect((await must(as.get(path))).total).toBe(0);
    expect((await as.get(`${EVENTS_PATH}/${event.id}`)).status).toBe(404);
  });
});

describe('events of a user or service account that is denied to the caller', () => {
  it.each([
    ['a user', async () => aUser(company, { can: ['*'] }), 'users:get', 'users::%:user/'],
    [
      'a service account',
      async () => {
        const robot = await aServiceAccountThat(company, allow('*'));
        return { id: robot.id, as: await withServiceToken(robot) };
      },
      'service-accounts:GetServiceAccount',
      'service-accounts::%:service-account/',
    ],
  ])('are neither listed, shown nor counted: %s', async (_what, make, action, kind) => {
    const person = await make();
    const context = await aContext({ ...company, as: person.as }, []);
    const path = `${EVENTS_PATH}?share_context_id=${context.id}`;
    await expect.poll(async () => (await must(company.as.get(path))).total).toBe(1);
    const [event] = (await must(company.as.get(path))).records;
    expect(event.actor.id).toBe(person.id);
    const deniedOn = [`arn:svc:${kind.replace('%', company.id)}${person.id}`];
    const { as } = await aUser(company, { can: ['*'], denied: [action], deniedOn });
    expect((await must(as.get(path))).total).toBe(0);
    expect((await as.get(`${EVENTS_PATH}/${event.id}`)).status).toBe(404);
  });

  it('are neither counted nor named in analytics', async () => {
    const person = await aUser(company);
    const dashboard = await aDashboard(company.as, []);
    const context = await aContext(company, [dashboardGrant(dashboard._id)]);
    await aMember(company.as, context.id, { member_type: 'internal_user', member_id: person.id });
    await must(inPortal(person.as, context.id, dashboard._id).execute());
    const analytics = async (as: Caller) => must(as.get(`/api/v1/share-analytics?share_context_id=${context.id}`));
    await expect.poll(async () => (await analytics(company.as)).unique_viewers).toBe(1);
    expect((await analytics(company.as)).top.viewers).toEqual([{ key: person.id, label: person.email, count: 1 }]);
    const deniedOn = [`arn:svc:users::${company.id}:user/${person.id}`];
    const { as } = await aUser(company, { can: ['*'], denied: ['users:get'], deniedOn });
    const { unique_viewers, top } = await analytics(as);
    expect([unique_viewers, top.viewers]).toEqual([0, []]);
  });
});

describe('events of a deleted context', () => {
  it('are not shown to a user who is denied something that it granted', async () => {
    const open = await aDashboard(company.as, []);
    const context = await aContext(company, [dashboardGrant(hidden._id), dashboardGrant(open._id)]);
    await must(company.as.delete(`${CONTEXTS_PATH}/${context.id}`));
    const path = `${EVENTS_PATH}?share_context_id=${context.id}`;
    await expect.poll(async () => (await must(company.as.get(path))).total).toBe(2);
    expect((await must((await denied('dashboards:get')).get(path))).total).toBe(0);
  });
});
