import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listPersonalColumns } from '../../src/db/shown-columns.ts';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Person } from '../../src/logs/redaction.ts';
import { redactText, redactValue } from '../../src/logs/redaction.ts';
import { storeInLog } from '../../src/modules/company-log/service.ts';
import { openDatabaseIfAny } from '../../src/modules/managed-database/service.ts';
import { COMPANY_TABLES, getName } from '../../src/modules/organizations/end/control-store.ts';
import { STORES } from '../../src/modules/organizations/end/stores.ts';
import { appendRecords, daysAgo, makeRecord, settleLog } from '../company-log/support.ts';
import { createSchedule, recordAgreement } from '../schedules/support.ts';
import { aContext, aMember, anOutsider, dashboardGrant, requestCode } from '../share-portal/support.ts';
import { aSalesDashboard, aShare } from '../shares/support.ts';
import { type Caller, call, createCaller } from '../support/api.ts';
import { resetClock } from '../support/clock.ts';
import { inContext } from '../support/context.ts';
import { readRecords } from '../support/log.ts';
import { countRows, selectRow, sendOvertaken } from '../support/rival.ts';
import { must, signed } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, aUser, type Company, logIn, PASSWORD } from '../support/worlds.ts';
import { deliverMessage } from '../uploads/support.ts';
import { someSales } from '../visualizations/support.ts';
import { createEndpoint, createReceiver } from '../webhooks/support.ts';
import { findPlaces, listFileKeys } from './looking.ts';

const PATH = '/v1/personal-data';
const of = (email: string) => `${PATH}?email=${encodeURIComponent(email)}`;
const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
let createdCount = 0;

interface Found {
  kind: string;
  record: Record<string, unknown>;
}

/** A caller whose requests come from one address and browser. */
const from = (token: string, headers: Record<string, string>): Caller => {
  const as = createCaller(token);
  const entries = Object.entries(as).map(([name, send]) => [
    name,
    (path: string, sending: { headers?: Record<string, string> } = {}) =>
      send(path, { ...sending, headers: { ...headers, ...sending.headers } }),
  ]);
  return Object.fromEntries(entries) as Caller;
};

interface Planted {
  company: Company;
  id: string;
  email: string;
  outsiderId: string;
  name: string;
  ip: string;
  agent: string;
}

/** Plants a person everywhere: as administrator, maker, inviter, invited, member, recipient and outsider. */
async function plantPerson(company: Company): Promise<Planted> {
  const { id, email, token } = await aUser(company, { can: ['*'] });
  createdCount += 1;
  const ip = `203.0.113.${100 + createdCount}`;
  const agent = `Browser of person ${createdCount}`;
  const FROM = { 'cf-connecting-ip': ip, 'user-agent': agent };
  const as = from(token, FROM);
  const theirs: Company = { ...company, as, token };
  const name = `Petra Person ${id}`;
  await must(as.put('/v1/auth/me', { json: { name } }));
  await call('POST', '/v1/auth/login', {
    headers: FROM,
    json: { company_slug: company.slug, email, password: PASSWORD },
  });
  await call('POST', '/v1/auth/passwordless/request', { headers: FROM, json: { company_slug: company.slug, email } });
  await call('POST', '/v1/users/reset-password/request', { headers: FROM, json: { email } });
  await must(
    as.post('/v1/auth/2fa/setup', { json: { password: PASSWORD } }).then((answer) => ({ ...answer, status: 200 })),
  );
  await someSales(theirs);
  const { dashboard } = await aSalesDashboard(theirs);
  await aShare(theirs, dashboard._id);
  await must(as.post('/v1/users/invite', { json: { email: `friend-of-${id}@x.test` } }));
  await must(
    as.post('/v1/groups', {
      json: { name: `Asks ${id}`, slug: `asks-${id.slice(-8)}`, description: `Ask ${email}, or ${email}.` },
    }),
  );
  const shared = await aContext(theirs, [dashboardGrant(dashboard._id)], [email]);
  await aMember(as, shared.id, { member_type: 'internal_user', member_id: id });
  const outsider = await anOutsider(company, email);
  await outsider.as.get('/api/v1/share-portal/dashboards', { headers: FROM });
  await requestCode(company, email);
  await recordAgreement(company, email);
  await createSchedule(as, dashboard, {
    recipients: [{ user_id: id }, { email }],
  });
  const policy = {
    name: `Of ${id}`,
    document: {
      version: '2024-01-01',
      statements: [{ effect: 'Allow', actions: ['users:get'], resources: [`arn:svc:users:${company.id}:user/${id}`] }],
    },
  };
  await must(as.post('/v1/policies', { json: policy }));
  const outsiderId = (
    await selectRow<{ id: string }>('select id from outsiders where company_id = ? and email = ?', company.id, email)
  )?.id as string;
  await appendRecords(company.id, [
    makeRecord(daysAgo(200), { principalId: id, ip }),
    makeRecord(daysAgo(199), { principalId: 'another', ip: '198.51.100.1', resourceId: `${id}/x` }),
    makeRecord(daysAgo(10), { principalId: id, ip }),
  ]);
  await settleLog(company.id);
  const letter = { id: newId(Date.now()), companyId: company.id, principalId: id, ip };
  await env.FILES.put(
    `dead-letters/data-console-audit/1-${createdCount}.json`,
    JSON.stringify({ id: 'x', body: letter }),
  );
  return { company, id, email, outsiderId, name, ip, agent };
}

afterEach(resetClock);

const failToSend = () => Promise.reject(new Error('The queue is away.'));

describe('the stored data about a person', () => {
  let person: Planted;
  let own: Awaited<ReturnType<typeof aUser>>;
  beforeAll(async () => {
    const company = await aProvisionedCompany();
    person = await plantPerson(company);
    own = await aUser(company, { can: ['users:list'] });
  });

  it('is shown to administrators, by kind, in every role, and without secrets', async () => {
    const answer = await person.company.as.get(of(person.email.toUpperCase()));
    expect([answer.status, answer.body.email]).toEqual([200, person.email]);
    const kinds = new Set(answer.body.records.map(({ kind }: { kind: string }) => kind));
    for (const kind of [
      'users',
      'sessions',
      'outsiders',
      'share_members',
      'schedule_recipients',
      'mail_consents',
      'group_bindings',
      'audit_records',
      'share_events',
      'tables',
      'undelivered',
      'named_in',
    ]) {
      expect(kinds).toContain(kind);
    }
    const text = JSON.stringify(answer.body);
    expect(text).toContain(person.ip);
    expect(text).toContain(person.outsiderId);
    expect(text).not.toMatch(/argon2|passwordHash|digest|"secret"/i);
    expect(text).not.toContain(own.email);
  });

  it('has the names and times of an export, no internals, and the ids of records that name the person', async () => {
    const { records } = await must(person.company.as.get(of(person.email)));
    const ours = records.filter(({ kind }: Found) => !['undelivered', 'webhook_deliveries'].includes(kind)) as Found[];
    const names = new Set(ours.flatMap(({ record }) => Object.keys(record)));
    expect([...names].filter((name) => !/^[a-z0-9_]+$/.test(name))).toEqual([]);
    expect(ours.filter(({ record }) => Object.values(record).some((value) => Number(value) > 1e11))).toEqual([]);
    for (const internal of ['session_epoch', 'counted_as', 'due_at', 'previous_until', 'row']) {
      expect(names).not.toContain(internal);
    }
    const own = (wanted: string) => ours.find(({ kind }) => kind === wanted)?.record;
    expect(own('users')).toMatchObject({ id: person.id, is_owner: false, created_at: expect.stringMatching(ISO) });
    expect(own('mail_requests')).toMatchObject({ email: person.email, requested_at: expect.stringMatching(ISO) });
    expect(own('audit_records')).toMatchObject({ principal_id: person.id, occurred_at: expect.stringMatching(ISO) });
    expect(own('share_events')).toMatchObject({ occurred_at: expect.stringMatching(ISO) });
    const namedIn = (wanted: string) =>
      ours.find(({ kind, record }) => kind === 'named_in' && record.kind === wanted)?.record;
    const { id } = (await selectRow<{ id: string }>(
      'select id from dashboards where company_id = ? and created_by_user_id = ?',
      ...[person.company.id, person.id],
    )) as { id: string };
    expect(namedIn('dashboards')).toEqual({ kind: 'dashboards', id, fields: ['created_by_user_id'] });
  });

  it('has columns of its own in every table with rows about persons, none of them a secret', () => {
    const shown = COMPANY_TABLES.filter(({ about }) => about).map(({ table }) => ({
      table: getName(table),
      names: listPersonalColumns(table).map(({ name }) => name),
    }));
    expect(shown.filter(({ names }) => names.length === 0)).toEqual([]);
    expect(shown.flatMap(({ names }) => names).filter((name) => /digest|secret|hash|salt|password/.test(name))).toEqual(
      [],
    );
  });

  it('is shown to the person themselves, and that of others to administrators only', async () => {
    const { body } = await own.as.get(PATH);
    expect(body.email).toBe(own.email);
    expect(body.records.map(({ kind }: { kind: string }) => kind)).toContain('users');
    expect(body).toEqual({ ...(await own.as.get(of(own.email))).body, records: expect.anything() });
    expect((await own.as.get(of(person.email))).status).toBe(403);
    expect((await own.as.delete(of(own.email))).status).toBe(403);
    const { token } = await must(signed(person.company.apiKey).post('/tokens', { json: { expires_in: 600 } }));
    expect((await createCaller(token).get(PATH)).status).toBe(403);
    expect((await createCaller(token).get(of(own.email))).status).toBe(200);
    for (const bad of ['none', '']) expect((await person.company.as.get(of(bad))).status).toBe(422);
    expect((await person.company.as.delete(PATH)).status).toBe(422);
    expect((await call('GET', PATH)).status).toBe(401);
  });
});

describe('the erasure of a person', () => {
  it('removes all their data; what others rely on stays under one pseudonym, and others are unchanged', async () => {
    const company = await aProvisionedCompany();
    const elsewhere = await aCompany();
    const person = await plantPerson(company);
    const { id, email, outsiderId, name, ip: theirIp, agent } = person;
    // Another one, whose address ends alike; and the same address in another company.
    const like = await aUser(company);
    const alike = `x${email}`;
    await env.CONTROL_DB.prepare('update users set email = ? where id = ?').bind(alike, like.id).run();
    await must(elsewhere.as.post('/v1/users/invite', { json: { email } }));

    const { status, body: refused } = await company.as.delete(of(email));
    expect([status, refused.error]).toEqual([409, 'USER_ACTIVE']);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    const { erased } = await must(company.as.delete(of(email)));
    for (const kind of [
      'users',
      'sessions',
      'outsiders',
      'share_members',
      'schedule_recipients',
      'dashboards',
      'log_records',
      'tables',
      'undelivered',
    ]) {
      expect([kind, erased[kind] > 0]).toEqual([kind, true]);
    }
    // Of the other company, which has the address still, and of no other place.
    const left = await findPlaces([id, outsiderId, name, theirIp, agent]);
    const platform = env.COMPANY_LOG.idFromName('platform').toString();
    expect(left.filter((place) => !place.startsWith('IP_LIMITER') && !place.includes(platform))).toEqual([]);
    const emails = (await findPlaces([email])).filter((place) => !place.endsWith(alike));
    expect(
      emails.every((place) => /^D1 (users|mail_requests|account_users|invitations)|^COMPANY_LOG/.test(place)),
    ).toBe(true);
    expect(await countRows('users where company_id = ? and email = ?', company.id, email)).toBe(0);
    expect(await countRows('users where company_id = ? and email = ?', elsewhere.id, email)).toBe(1);
    expect(await countRows('users where id = ? and email = ?', like.id, alike)).toBe(1);

    const { created_by_user_id: pseudonym } = (await selectRow<{ created_by_user_id: string }>(
      'select created_by_user_id from dashboards where company_id = ?',
      company.id,
    )) as { created_by_user_id: string };
    expect(pseudonym).toMatch(/^[0-9a-f]{24}$/);
    const audit = await readRecords('audit', company.id);
    const own = audit.filter(({ principalId }) => principalId === pseudonym);
    expect(own.length).toBeGreaterThan(10);
    expect(own.every(({ ip }) => ip === null)).toBe(true);
    expect(audit.find(({ principalId }) => principalId === 'another')).toMatchObject({
      ip: '198.51.100.1',
      resourceId: `${pseudonym}/x`,
    });
    expect(own.some(({ occurredAt }) => occurredAt < Date.now() - 150 * DAY_MS)).toBe(true);
    const events = await readRecords('share', company.id);
    expect(
      events.some((event) => event.actorEmail === pseudonym && event.actorId === pseudonym && event.userAgent === null),
    ).toBe(true);
    const makers = await inContext({ kind: 'system', companyId: company.id }, async (ctx) =>
      (await openDatabaseIfAny(ctx))?.query<{ created_by_user_id: string }>(
        'SELECT created_by_user_id FROM console.managed_tables',
      ),
    );
    expect(makers).toEqual([{ created_by_user_id: pseudonym }]);
    const { description } = (await selectRow<{ description: string }>(
      "select description from groups where company_id = ? and description like 'Ask %'",
      company.id,
    )) as { description: string };
    expect(description).toBe(`Ask ${pseudonym}, or ${pseudonym}.`);
    expect((await must(company.as.delete(of(email)))).erased).toEqual({});
    expect((await company.as.get(of(email))).body.records).toEqual([]);
    // No file of an archived day is left that its log does not name.
    expect((await listFileKeys()).filter((key) => key.startsWith(`log/${company.id}/`)).length).toBe(2);
  });

  it('is complete after an interruption, and is refused for a person who is activated meanwhile', async () => {
    const company = await aProvisionedCompany();
    const { id, email, outsiderId } = await plantPerson(company);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    const activated = await sendOvertaken(
      /^update "users" set "is_active"/,
      () => must(company.as.post(`/v1/users/${id}/activate`)),
      (changed) => company.as.delete(of(email), { env: changed }),
    );
    expect([activated.status, activated.body.error]).toEqual([409, 'USER_ACTIVE']);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    const away = {
      ...env.COMPANY_LOG,
      getByName: () => ({
        redact: () => Promise.reject(new Error('the log is away')),
        appendAll: async () => undefined,
      }),
    };
    expect((await company.as.delete(of(email), { env: { COMPANY_LOG: away } as never })).status).toBe(500);
    expect(await countRows('users where id = ?', id)).toBe(1);
    await must(company.as.delete(of(email)));
    expect(await findPlaces([id, outsiderId])).toEqual([]);
  });

  it('removes them from sent and pending webhook deliveries, and from its own events', async () => {
    const company = await aCompany();
    const { id, email } = await aUser(company);
    const { _id: group } = await must(
      company.as.post('/v1/groups', {
        json: { name: 'Of a person', slug: 'of-a-person', description: 'Has one member.' },
      }),
    );
    const receiver = createReceiver('status.500');
    const { _id: endpoint } = await createEndpoint(company, receiver, ['*', 'audit.records']);
    const other = createReceiver();
    await createEndpoint(company, other);
    await must(company.as.put(`/v1/users/${id}`, { json: { name: 'Petra Pending' } }));
    await must(company.as.put(`/v1/users/${id}/groups`, { json: { group_ids: [group] } }));
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    await expect
      .poll(async () => (await other.received()).map(({ event }) => event.type))
      .toContain('user.deactivated');
    expect(JSON.stringify(await receiver.received())).toContain('Petra Pending');
    const kinds = (await must(company.as.get(of(email)))).records.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toContain('webhook_deliveries');

    // What is told meanwhile waits: the queue is away.
    const held = { WEBHOOKS: { send: failToSend, sendBatch: failToSend } } as never;
    const { erased } = await must(company.as.delete(of(email), { env: held }));
    expect([erased.webhook_deliveries > 0, erased.users]).toEqual([true, 1]);
    expect(await countRows("events where company_id = ? and type = 'group.member_removed'", company.id)).toBe(1);
    expect(await findPlaces([id, email, 'Petra Pending'])).toEqual([]);
    const before = (await other.received()).length;
    await receiver.behave('ok');
    await must(company.as.put('/v1/company/settings', { json: { locale: 'es' } }));
    await expect
      .poll(async () => (await other.received()).map(({ event }) => event.type))
      .toContain('group.member_removed');
    const told = JSON.stringify((await other.received()).slice(before));
    expect(told).not.toContain(id);
    expect(told).not.toContain(email);
    const { records } = await must(company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries?per_page=100`));
    for (const { _id } of records) {
      const { body } = await must(company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries/${_id}`));
      expect(body).not.toMatch(new RegExp(`${id}|${email}|Petra Pending`));
    }
  });

  it.each([
    ['read, and not handed over yet', /^select "principal_id", "group_id" from "group_bindings"/],
    ['handed over, and not deleted yet', /^delete from "events"/],
  ])('removes them from events that are being handed out at that moment, too: %s', async (_, query) => {
    const company = await aCompany();
    const { id, email } = await aUser(company);
    const receiver = createReceiver('status.500');
    const { _id: endpoint } = await createEndpoint(company, receiver);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    await expect.poll(() => countRows('events where company_id = ?', company.id)).toBe(0);
    const held = { WEBHOOKS: { send: failToSend, sendBatch: failToSend } } as never;
    await must(company.as.post(`/v1/users/${id}/activate`, { env: held }));
    await must(company.as.post(`/v1/users/${id}/deactivate`, { env: held }));
    const rival = () => must(company.as.delete(of(email), { env: held }));
    await sendOvertaken(query, rival, (changed) =>
      deliverMessage({ type: 'webhooks.tell', companyId: company.id }, changed),
    );
    expect(await countRows('events where company_id = ?', company.id)).toBe(0);
    const { records } = await must(company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries?per_page=100`));
    expect(records.length).toBeGreaterThan(2);
    expect(await findPlaces([id, email])).toEqual([]);
  });

  it('removes them from records that a queue hands over later, but not from those after coming back', async () => {
    const company = await aProvisionedCompany();
    const { id, email, outsiderId, ip } = await plantPerson(company);
    const events = await readRecords('share', company.id);
    const theirs = events.filter(({ actorEmail }) => actorEmail === email);
    const details = { asked: `${email}, as ${outsiderId}` };
    const about = { ...events[0], actorId: null, actorEmail: null, viewer: 'another', details };
    const records = await readRecords('audit', company.id);
    const record = records.find((each) => each.principalId === id && each.ip === ip);
    expect([theirs.length > 1, record]).toEqual([true, expect.anything()]);
    await must(company.as.post(`/v1/users/${id}/deactivate`));
    await must(company.as.delete(of(email)));
    const late = [...theirs, about].map((event) => ({ ...event, id: newId(Date.now()), companyId: company.id }));
    for (const event of late) await deliverMessage({ type: 'share.keep', companyId: company.id, event });
    await storeInLog(env, 'audit', { ...record, id: newId(Date.now()), companyId: company.id } as never);
    const kept = await readRecords('share', company.id);
    expect(late.every((event) => kept.some((each) => each.id === event.id && each.actorEmail !== email))).toBe(true);
    expect(await findPlaces([id, outsiderId, email])).toEqual([]);
    expect((await readRecords('audit', company.id)).filter((each) => each.ip === ip)).toEqual([]);

    const again = { ...late[0], id: newId(Date.now()), occurredAt: Date.now() + 1000 };
    await deliverMessage({ type: 'share.keep', companyId: company.id, event: again });
    const back = (await readRecords('share', company.id)).find((each) => each.id === again.id);
    expect(back?.actorEmail).toBe(email);
  });

  it('keeps what others write meanwhile', async () => {
    const company = await aCompany();
    await must(company.as.post('/v1/users/invite', { json: { email: 'x@invited.test' } }));
    const json = { name: 'Asks', slug: 'asks', description: 'Ask x@invited.test.' };
    const { _id } = await must(company.as.post('/v1/groups', { json }));
    const write = () => must(company.as.put(`/v1/groups/${_id}`, { json: { description: 'Written meanwhile.' } }));
    await must(
      sendOvertaken(/^update "groups"/, write, (changed) => company.as.delete(of('x@invited.test'), { env: changed })),
    );
    expect((await must(company.as.get(`/v1/groups/${_id}`))).description).toBe('Written meanwhile.');
  });

  it('is possible for outsiders and invited users, but not for an active administrator', async () => {
    const company = await aCompany();
    await must(company.as.post('/v1/users/invite', { json: { email: 'only@invited.test' } }));
    expect((await must(company.as.delete(of('only@invited.test')))).erased).toMatchObject({ users: 1, invitations: 1 });
    expect(await findPlaces(['only@invited.test'])).toEqual([]);
    const { status, body } = await company.as.delete(of(company.owner.email));
    expect([status, body.error]).toEqual([409, 'USER_ACTIVE']);
    expect((await must(company.as.delete(of('nobody@x.test')))).erased).toEqual({});
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(200);
  });
});

describe('the pseudonym of an erased person', () => {
  const person: Person = { ids: ['a'.repeat(24)], email: 'ana@x.test', pseudonym: 'p', ips: ['192.0.2.9'] };

  it('replaces their address only where it stands by itself, in upper or lower case', () => {
    expect(redactText('Ana@x.test, joana@x.test, ana@x.test.br, <ana@x.test>. ana@x.test-y', person)).toBe(
      'p, joana@x.test, ana@x.test.br, <p>. ana@x.test-y',
    );
  });

  it('comes without IP address and user agent in their own records, not in those of others', () => {
    const ip = '192.0.2.1';
    expect(
      redactValue({ principalId: person.ids[0], ip, deep: [{ actorEmail: 'ANA@x.test', userAgent: 'x' }] }, person),
    ).toEqual({
      principalId: 'p',
      ip: null,
      deep: [{ actorEmail: 'p', userAgent: null }],
    });
    expect(redactValue({ principalId: null, ip: '192.0.2.9' }, person)).toEqual({ principalId: null, ip: null });
    expect(redactValue({ principalId: 'b', ip: '192.0.2.9' }, person)).toEqual({ principalId: 'b', ip: '192.0.2.9' });
    expect(redactValue({ principalId: 'b', ip, resourceId: person.ids[0] }, person)).toEqual({
      principalId: 'b',
      ip,
      resourceId: 'p',
    });
  });
});

describe('the list of stores with data about people', () => {
  it('says of each store and table what it holds about people', () => {
    expect(STORES.filter(({ people }) => people === undefined)).toEqual([]);
    expect(COMPANY_TABLES.filter(({ about }) => about === undefined).map(({ table }) => getName(table))).toEqual([]);
  });
});
