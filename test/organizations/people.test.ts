import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { listPersonalColumns } from '../../src/db/shown-columns.ts';
import { DAY_MS } from '../../src/kernel/clock.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Person } from '../../src/logs/redaction.ts';
import { redactText, redactValue } from '../../src/logs/redaction.ts';
import { storeInLog } from '../../src/modules/company-log/service.ts';
import { openDatabaseIfAny } from '../../src/modules/managed-database/service.ts';
import { COMPANY_TABLES, getControlTableName } from '../../src/modules/organizations/end/control-store.ts';
import { DATA_STORES } from '../../src/modules/organizations/end/stores.ts';
import type { CompanyLog } from '../../src/objects/company-log.ts';
import { appendRecords, getTimeDaysAgo, makeRecord, settleLog } from '../company-log/support.ts';
import { createEmbedRecord, REVOCATION_PATH, readStatus } from '../embeds/support.ts';
import { createSchedule, recordConsent } from '../schedules/support.ts';
import {
  addContextMember,
  createShareContext,
  makeDashboardGrant,
  requestCode,
  signInOutsider,
} from '../share-portal/support.ts';
import { createSalesDashboard, createShare } from '../shares/support.ts';
import { type Caller, callApi, createCaller } from '../support/api.ts';
import {
  type Company,
  createAllowedUser,
  createOwnedCompany,
  createProvisionedCompany,
  logIn,
  PASSWORD,
} from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { readRecords } from '../support/log.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { createSignedCaller, expectSuccess } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { createSalesTable } from '../visualizations/support.ts';
import { createEndpoint, createReceiver } from '../webhooks/support.ts';
import { findStoredPlaces, listFileKeys } from './support.ts';

const PERSONAL_DATA_PATH = '/v1/personal-data';
const makePath = (email: string) => `${PERSONAL_DATA_PATH}?email=${encodeURIComponent(email)}`;
const ISO_PATTERN = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
let createdCount = 0;

interface FoundRecord {
  kind: string;
  record: Record<string, unknown>;
}

/** Creates a caller whose requests come from one address and browser. */
const createCallerWith = (token: string, headers: Record<string, string>): Caller => {
  const as = createCaller(token);
  const entries = Object.entries(as).map(([name, send]) => [
    name,
    (path: string, requestOptions: { headers?: Record<string, string> } = {}) =>
      send(path, { ...requestOptions, headers: { ...headers, ...requestOptions.headers } }),
  ]);
  return Object.fromEntries(entries) as Caller;
};

interface StoredPerson {
  company: Company;
  id: string;
  email: string;
  outsiderId: string;
  name: string;
  ip: string;
  userAgent: string;
}

/** Creates a person with data everywhere: as administrator, creator, inviter, invited, member, recipient and outsider. */
async function storePerson(company: Company): Promise<StoredPerson> {
  const { id, email, token } = await createAllowedUser(company, { can: ['*'] });
  createdCount += 1;
  const ip = `203.0.113.${100 + createdCount}`;
  const agent = `Browser of person ${createdCount}`;
  const CLIENT_HEADERS = { 'cf-connecting-ip': ip, 'user-agent': agent };
  const as = createCallerWith(token, CLIENT_HEADERS);
  const personCompany: Company = { ...company, as, token };
  const name = `Petra Person ${id}`;
  await expectSuccess(as.put('/v1/auth/me', { json: { name } }));
  await callApi('POST', '/v1/auth/login', {
    headers: CLIENT_HEADERS,
    json: { company_slug: company.slug, email, password: PASSWORD },
  });
  await callApi('POST', '/v1/auth/passwordless/request', {
    headers: CLIENT_HEADERS,
    json: { company_slug: company.slug, email },
  });
  await callApi('POST', '/v1/users/reset-password/request', { headers: CLIENT_HEADERS, json: { email } });
  await expectSuccess(
    as.post('/v1/auth/2fa/setup', { json: { password: PASSWORD } }).then((answer) => ({ ...answer, status: 200 })),
  );
  await createSalesTable(personCompany);
  const { dashboard } = await createSalesDashboard(personCompany);
  await createShare(personCompany, dashboard._id);
  await expectSuccess(as.post('/v1/users/invite', { json: { email: `friend-of-${id}@x.test` } }));
  await expectSuccess(
    as.post('/v1/groups', {
      json: { name: `Asks ${id}`, slug: `asks-${id.slice(-8)}`, description: `Ask ${email}, or ${email}.` },
    }),
  );
  const sharedContext = await createShareContext(personCompany, [makeDashboardGrant(dashboard._id)], [email]);
  await addContextMember(as, sharedContext.id, { member_type: 'internal_user', member_id: id });
  const outsider = await signInOutsider(company, email);
  await outsider.as.get('/api/v1/share-portal/dashboards', { headers: CLIENT_HEADERS });
  await requestCode(company, email);
  await recordConsent(company, email);
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
  await expectSuccess(as.post('/v1/policies', { json: policy }));
  const outsiderId = (
    await selectRow<{ id: string }>('select id from outsiders where company_id = ? and email = ?', company.id, email)
  )?.id as string;
  await appendRecords(company.id, [
    makeRecord(getTimeDaysAgo(200), { principalId: id, ip }),
    makeRecord(getTimeDaysAgo(199), { principalId: 'another', ip: '198.51.100.1', resourceId: `${id}/x` }),
    makeRecord(getTimeDaysAgo(10), { principalId: id, ip }),
  ]);
  await settleLog(company.id);
  const letter = { id: newId(Date.now()), companyId: company.id, principalId: id, ip };
  await env.FILES.put(
    `dead-letters/data-console-audit/1-${createdCount}.json`,
    JSON.stringify({ id: 'x', body: letter }),
  );
  return { company, id, email, outsiderId, name, ip, userAgent: agent };
}

const failToSend = () => Promise.reject(new Error('The queue is away.'));

const company = await createProvisionedCompany();
const person = await storePerson(company);
const ownUser = await createAllowedUser(company, { can: ['users:list'] });

describe('the stored data about a person', () => {
  it('is shown to administrators, by kind, in every role, and without secrets', async () => {
    const answer = await person.company.as.get(makePath(person.email.toUpperCase()));
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
    expect(text).not.toContain(ownUser.email);
  });

  it('has the names and times of an export, no internals, and the ids of records that name the person', async () => {
    const { records } = await expectSuccess(person.company.as.get(makePath(person.email)));
    const ownRecords = records.filter(
      ({ kind }: FoundRecord) => !['undelivered', 'webhook_deliveries'].includes(kind),
    ) as FoundRecord[];
    const names = new Set(ownRecords.flatMap(({ record }) => Object.keys(record)));
    expect([...names].filter((name) => !/^[a-z0-9_]+$/.test(name))).toEqual([]);
    expect(ownRecords.filter(({ record }) => Object.values(record).some((value) => Number(value) > 1e11))).toEqual([]);
    for (const internalName of ['session_epoch', 'counted_as', 'due_at', 'previous_until', 'row']) {
      expect(names).not.toContain(internalName);
    }
    const findRecord = (wantedKind: string) => ownRecords.find(({ kind }) => kind === wantedKind)?.record;
    expect(findRecord('users')).toMatchObject({
      id: person.id,
      is_owner: false,
      created_at: expect.stringMatching(ISO_PATTERN),
    });
    expect(findRecord('mail_requests')).toMatchObject({
      email: person.email,
      requested_at: expect.stringMatching(ISO_PATTERN),
    });
    expect(findRecord('audit_records')).toMatchObject({
      principal_id: person.id,
      occurred_at: expect.stringMatching(ISO_PATTERN),
    });
    expect(findRecord('share_events')).toMatchObject({ occurred_at: expect.stringMatching(ISO_PATTERN) });
    const findNamingRecord = (wantedKind: string) =>
      ownRecords.find(({ kind, record }) => kind === 'named_in' && record.kind === wantedKind)?.record;
    const { id } = (await selectRow<{ id: string }>(
      'select id from dashboards where company_id = ? and created_by_user_id = ?',
      ...[person.company.id, person.id],
    )) as { id: string };
    expect(findNamingRecord('dashboards')).toEqual({ kind: 'dashboards', id, fields: ['created_by_user_id'] });
  });

  it('shows columns of every table with rows about persons, and none with a secret', () => {
    const shownColumns = COMPANY_TABLES.filter(({ makePersonCondition: makeAboutCondition }) => makeAboutCondition).map(
      ({ table }) => ({
        table: getControlTableName(table),
        names: listPersonalColumns(table).map(({ name }) => name),
      }),
    );
    expect(shownColumns.filter(({ names }) => names.length === 0)).toEqual([]);
    expect(
      shownColumns.flatMap(({ names }) => names).filter((name) => /digest|secret|hash|salt|password/.test(name)),
    ).toEqual([]);
  });

  it('is shown to the persons themselves; the data of other people is shown to administrators only', async () => {
    const { body } = await ownUser.as.get(PERSONAL_DATA_PATH);
    expect(body.email).toBe(ownUser.email);
    expect(body.records.map(({ kind }: { kind: string }) => kind)).toContain('users');
    expect(body).toEqual({ ...(await ownUser.as.get(makePath(ownUser.email))).body, records: expect.anything() });
    expect((await ownUser.as.get(makePath(person.email))).status).toBe(403);
    expect((await ownUser.as.delete(makePath(ownUser.email))).status).toBe(403);
    const { token } = await expectSuccess(
      createSignedCaller(person.company.apiKey).post('/tokens', { json: { expires_in: 600 } }),
    );
    expect((await createCaller(token).get(PERSONAL_DATA_PATH)).status).toBe(403);
    expect((await createCaller(token).get(makePath(ownUser.email))).status).toBe(200);
    for (const badAddress of ['none', '']) expect((await person.company.as.get(makePath(badAddress))).status).toBe(422);
    expect((await person.company.as.delete(PERSONAL_DATA_PATH)).status).toBe(422);
    expect((await callApi('GET', PERSONAL_DATA_PATH)).status).toBe(401);
  });
});

describe('the erasure of a person', () => {
  it("removes all their data; records that others depend on stay under one pseudonym, and other people's data is unchanged", async () => {
    const company = await createProvisionedCompany();
    const otherCompany = await createOwnedCompany();
    const person = await storePerson(company);
    const { id, email, outsiderId, name, ip: personIp, userAgent } = person;
    // Another one, whose address ends alike; the same address in another company; and the staging table of a load.
    const otherUser = await createAllowedUser(company);
    const similarEmail = `x${email}`;
    await runSql('update users set email = ? where id = ?', similarEmail, otherUser.id);
    await expectSuccess(otherCompany.as.post('/v1/users/invite', { json: { email } }));

    await runInContext({ kind: 'system', companyId: company.id }, async (ctx) =>
      (await openDatabaseIfAny(ctx))?.execute(`CREATE TABLE console."${'0'.repeat(24)}" (sold_by text)`),
    );

    const { dashboard } = await createSalesDashboard(company);
    const embeds = [];
    for (const viewerId of [id, email]) {
      const viewer = { id: viewerId, attributes: {} };
      embeds.push(await createEmbedRecord(company, 'dashboards', dashboard._id, { viewer }));
      expect((await company.as.post(REVOCATION_PATH, { json: { viewer_id: viewerId } })).status).toBe(204);
    }

    const { status, body: refusedBody } = await company.as.delete(makePath(email));
    expect([status, refusedBody.error]).toEqual([409, 'USER_ACTIVE']);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    const { erased } = await expectSuccess(company.as.delete(makePath(email)));
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
    const remainingPlaces = await findStoredPlaces([id, outsiderId, name, personIp, userAgent]);
    const platformLogId = env.COMPANY_LOG.idFromName('platform').toString();
    expect(
      remainingPlaces.filter(
        (storedPlace) => !storedPlace.startsWith('IP_LIMITER') && !storedPlace.includes(platformLogId),
      ),
    ).toEqual([]);
    const emails = (await findStoredPlaces([email])).filter((storedPlace) => !storedPlace.endsWith(similarEmail));
    expect(
      emails.every((storedPlace) =>
        /^D1 (users|mail_requests|account_users|invitations)|^COMPANY_LOG/.test(storedPlace),
      ),
    ).toBe(true);
    expect(await countRows('users where company_id = ? and email = ?', company.id, email)).toBe(0);
    expect(await countRows('users where company_id = ? and email = ?', otherCompany.id, email)).toBe(1);
    expect(await countRows('users where id = ? and email = ?', otherUser.id, similarEmail)).toBe(1);

    const { created_by_user_id: pseudonym } = (await selectRow<{ created_by_user_id: string }>(
      'select created_by_user_id from dashboards where company_id = ? and id <> ?',
      ...[company.id, dashboard._id],
    )) as { created_by_user_id: string };
    expect(pseudonym).toMatch(/^[0-9a-f]{24}$/);
    const auditRecords = await readRecords('audit', company.id);
    const pseudonymRecords = auditRecords.filter(({ principalId }) => principalId === pseudonym);
    expect(pseudonymRecords.length).toBeGreaterThan(10);
    expect(pseudonymRecords.every(({ ip }) => ip === null)).toBe(true);
    expect(auditRecords.find(({ principalId }) => principalId === 'another')).toMatchObject({
      ip: '198.51.100.1',
      resourceId: `${pseudonym}/x`,
    });
    expect(pseudonymRecords.some(({ occurredAt }) => occurredAt < Date.now() - 150 * DAY_MS)).toBe(true);
    const events = await readRecords('share', company.id);
    expect(
      events.some((event) => event.actorEmail === pseudonym && event.actorId === pseudonym && event.userAgent === null),
    ).toBe(true);
    const creatorRows = await runInContext({ kind: 'system', companyId: company.id }, async (ctx) =>
      (await openDatabaseIfAny(ctx))?.query<{ created_by_user_id: string }>(
        'SELECT created_by_user_id FROM console.managed_tables',
      ),
    );
    expect(creatorRows).toEqual([{ created_by_user_id: pseudonym }]);
    const { description } = (await selectRow<{ description: string }>(
      "select description from groups where company_id = ? and description like 'Ask %'",
      company.id,
    )) as { description: string };
    expect(description).toBe(`Ask ${pseudonym}, or ${pseudonym}.`);
    expect((await expectSuccess(company.as.delete(makePath(email)))).erased).toEqual({});
    expect((await company.as.get(makePath(email))).body.records).toEqual([]);
    // No file of an archived day is left that its log does not name.
    expect((await listFileKeys()).filter((key) => key.startsWith(`log/${company.id}/`)).length).toBe(2);
    for (const { token } of embeds) expect(await readStatus('d', token)).toBe(401);
  });

  it('is complete after an interruption, and is refused for a person who is activated meanwhile', async () => {
    const company = await createProvisionedCompany();
    const { id, email, outsiderId } = await storePerson(company);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    const racingErasure = await sendDuringRace(
      /^update "users" set "is_active"/,
      () => expectSuccess(company.as.post(`/v1/users/${id}/activate`)),
      (changedEnv) => company.as.delete(makePath(email), { env: changedEnv }),
    );
    expect([racingErasure.status, racingErasure.body.error]).toEqual([409, 'USER_ACTIVE']);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    const failingBinding = {
      ...env.COMPANY_LOG,
      getByName: (name: string) => ({
        makePseudonym: (address: string) => env.COMPANY_LOG.getByName(name).makePseudonym(address),
        redact: () => Promise.reject(new Error('the log is away')),
        appendAll: async () => undefined,
      }),
    };
    expect((await company.as.delete(makePath(email), { env: { COMPANY_LOG: failingBinding } as never })).status).toBe(
      500,
    );
    expect(await countRows('users where id = ?', id)).toBe(1);
    await expectSuccess(company.as.delete(makePath(email)));
    expect(await findStoredPlaces([id, outsiderId])).toEqual([]);
  });

  it('removes them from sent and pending webhook deliveries, and from its own events', async () => {
    const company = await createOwnedCompany();
    const { id, email } = await createAllowedUser(company);
    const { _id: group } = await expectSuccess(
      company.as.post('/v1/groups', {
        json: { name: 'Of a person', slug: 'of-a-person', description: 'Has one member.' },
      }),
    );
    const receiver = createReceiver('status.500');
    const { _id: endpoint } = await createEndpoint(company, receiver, ['*', 'audit.records']);
    const other = createReceiver();
    await createEndpoint(company, other);
    await expectSuccess(company.as.put(`/v1/users/${id}`, { json: { name: 'Petra Pending' } }));
    await expectSuccess(company.as.put(`/v1/users/${id}/groups`, { json: { group_ids: [group] } }));
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    await expect
      .poll(async () => (await other.readReceivedRequests()).map(({ event }) => event.type))
      .toContain('user.deactivated');
    expect(JSON.stringify(await receiver.readReceivedRequests())).toContain('Petra Pending');
    const kinds = (await expectSuccess(company.as.get(makePath(email)))).records.map(
      ({ kind }: { kind: string }) => kind,
    );
    expect(kinds).toContain('webhook_deliveries');

    // What is told meanwhile waits: the queue is away.
    const failingQueue = { WEBHOOKS: { send: failToSend, sendBatch: failToSend } } as never;
    const { erased } = await expectSuccess(company.as.delete(makePath(email), { env: failingQueue }));
    expect([erased.webhook_deliveries > 0, erased.users]).toEqual([true, 1]);
    expect(await countRows("events where company_id = ? and type = 'group.member_removed'", company.id)).toBe(1);
    expect(await findStoredPlaces([id, email, 'Petra Pending'])).toEqual([]);
    const countBefore = (await other.readReceivedRequests()).length;
    await receiver.setBehaviour('ok');
    await expectSuccess(company.as.put('/v1/company/settings', { json: { locale: 'es' } }));
    await expect
      .poll(async () => (await other.readReceivedRequests()).map(({ event }) => event.type))
      .toContain('group.member_removed');
    const deliveredText = JSON.stringify((await other.readReceivedRequests()).slice(countBefore));
    expect(deliveredText).not.toContain(id);
    expect(deliveredText).not.toContain(email);
    const { records } = await expectSuccess(
      company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries?per_page=100`),
    );
    for (const { _id } of records) {
      const { body } = await expectSuccess(company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries/${_id}`));
      expect(body).not.toMatch(new RegExp(`${id}|${email}|Petra Pending`));
    }
  });

  it.each([
    ['read, and not handed over yet', /^select "principal_id", "group_id" from "group_bindings"/],
    ['handed over, and not deleted yet', /^delete from "events"/],
  ])('removes them from events that are being handed out at that moment, too: %s', async (_, query) => {
    const company = await createOwnedCompany();
    const { id, email } = await createAllowedUser(company);
    const receiver = createReceiver('status.500');
    const { _id: endpoint } = await createEndpoint(company, receiver);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    await expect.poll(() => countRows('events where company_id = ?', company.id)).toBe(0);
    const failingQueue = { WEBHOOKS: { send: failToSend, sendBatch: failToSend } } as never;
    await expectSuccess(company.as.post(`/v1/users/${id}/activate`, { env: failingQueue }));
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`, { env: failingQueue }));
    const erasePerson = () => expectSuccess(company.as.delete(makePath(email), { env: failingQueue }));
    await sendDuringRace(query, erasePerson, (changedEnv) =>
      deliverMessage({ type: 'webhooks.tell', companyId: company.id }, changedEnv),
    );
    expect(await countRows('events where company_id = ?', company.id)).toBe(0);
    const { records } = await expectSuccess(
      company.as.get(`/v1/webhook-endpoints/${endpoint}/deliveries?per_page=100`),
    );
    expect(records.length).toBeGreaterThan(2);
    expect(await findStoredPlaces([id, email])).toEqual([]);
  });

  it('removes them from records that a queue delivers later, but not from records made after they came back', async () => {
    const company = await createProvisionedCompany();
    const { id, email, outsiderId, ip } = await storePerson(company);
    const events = await readRecords('share', company.id);
    const personEvents = events.filter(({ actorEmail }) => actorEmail === email);
    const details = { asked: `${email}, as ${outsiderId}` };
    const eventAboutPerson = { ...events[0], actorId: null, actorEmail: null, viewer: 'another', details };
    const records = await readRecords('audit', company.id);
    const record = records.find((listedRecord) => listedRecord.principalId === id && listedRecord.ip === ip);
    expect([personEvents.length > 1, record]).toEqual([true, expect.anything()]);
    await expectSuccess(company.as.post(`/v1/users/${id}/deactivate`));
    await expectSuccess(company.as.delete(makePath(email)));
    const lateEvents = [...personEvents, eventAboutPerson].map((event) => ({
      ...event,
      id: newId(Date.now()),
      companyId: company.id,
    }));
    for (const event of lateEvents) await deliverMessage({ type: 'share.keep', companyId: company.id, event });
    await storeInLog(env, 'audit', { ...record, id: newId(Date.now()), companyId: company.id } as never);
    const storedRecords = await readRecords('share', company.id);
    expect(
      lateEvents.every((event) =>
        storedRecords.some((storedRecord) => storedRecord.id === event.id && storedRecord.actorEmail !== email),
      ),
    ).toBe(true);
    expect(await findStoredPlaces([id, outsiderId, email])).toEqual([]);
    expect((await readRecords('audit', company.id)).filter((auditRecord) => auditRecord.ip === ip)).toEqual([]);

    const laterEvent = { ...lateEvents[0], id: newId(Date.now()), occurredAt: Date.now() + 1000 };
    await deliverMessage({ type: 'share.keep', companyId: company.id, event: laterEvent });
    const storedLaterEvent = (await readRecords('share', company.id)).find(
      (shareRecord) => shareRecord.id === laterEvent.id,
    );
    expect(storedLaterEvent?.actorEmail).toBe(email);
  });

  it('keeps the changes that others make during the erasure', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(company.as.post('/v1/users/invite', { json: { email: 'x@invited.test' } }));
    const json = { name: 'Asks', slug: 'asks', description: 'Ask x@invited.test.' };
    const { _id } = await expectSuccess(company.as.post('/v1/groups', { json }));
    const updateGroup = () =>
      expectSuccess(company.as.put(`/v1/groups/${_id}`, { json: { description: 'Written meanwhile.' } }));
    await expectSuccess(
      sendDuringRace(/^update "groups"/, updateGroup, (changedEnv) =>
        company.as.delete(makePath('x@invited.test'), { env: changedEnv }),
      ),
    );
    expect((await expectSuccess(company.as.get(`/v1/groups/${_id}`))).description).toBe('Written meanwhile.');
  });

  it('is possible for outsiders and invited users, but not for an active administrator', async () => {
    const company = await createOwnedCompany();
    await expectSuccess(company.as.post('/v1/users/invite', { json: { email: 'only@invited.test' } }));
    expect((await expectSuccess(company.as.delete(makePath('only@invited.test')))).erased).toMatchObject({
      users: 1,
      invitations: 1,
    });
    expect(await findStoredPlaces(['only@invited.test'])).toEqual([]);
    const { status, body } = await company.as.delete(makePath(company.owner.email));
    expect([status, body.error]).toEqual([409, 'USER_ACTIVE']);
    expect((await expectSuccess(company.as.delete(makePath('nobody@x.test')))).erased).toEqual({});
    expect((await logIn(company.slug, company.owner.email, PASSWORD)).status).toBe(200);
  });
});

describe('the pseudonym of an erased person', () => {
  it('is the same in a later erasure, under a newer encryption key', async () => {
    const company = await createOwnedCompany();
    const newerKeys = JSON.stringify({ ...JSON.parse(env.ENCRYPTION_KEYS), 2000000000: 'x'.repeat(43) });
    const descriptions = [];
    for (const [slug, keys] of Object.entries({ first: env.ENCRYPTION_KEYS, second: newerKeys })) {
      const json = { name: slug, slug, description: 'Ask ana@x.test.' };
      const { _id: id } = await expectSuccess(company.as.post('/v1/groups', { json }));
      await expectSuccess(company.as.delete(makePath('Ana@x.test'), { env: { ENCRYPTION_KEYS: keys } }));
      descriptions.push((await expectSuccess(company.as.get(`/v1/groups/${id}`))).description);
    }
    expect(descriptions[0]).toMatch(/^Ask [0-9a-f]{24}\.$/);
    expect(descriptions[1]).toBe(descriptions[0]);
  });

  it('is that of an erasure that began with another', async () => {
    const { id } = await createOwnedCompany();
    const log = env.COMPANY_LOG.getByName(id) as unknown as DurableObjectStub<CompanyLog>;
    const begun = { ids: [], email: 'bob@x.test', pseudonym: 'b'.repeat(24), ips: [] };
    await log.redact(begun, null);
    expect(await log.makePseudonym(begun.email)).toBe(begun.pseudonym);
  });

  const person: Person = { ids: ['a'.repeat(24)], email: 'ana@x.test', pseudonym: 'p', ips: ['192.0.2.9'] };

  it('replaces their e-mail address only where the address stands as a whole word, in upper or lower case', () => {
    expect(redactText('Ana@x.test, joana@x.test, ana@x.test.br, <ana@x.test>. ana@x.test-y', person)).toBe(
      'p, joana@x.test, ana@x.test.br, <p>. ana@x.test-y',
    );
  });

  it('comes without IP address and user agent in their own records, but not in records of other people', () => {
    const ip = '192.0.2.1';
    expect(
      redactValue({ principalId: person.ids[0], ip, deep: [{ actorEmail: 'ANA@x.test', userAgent: 'x' }] }, person),
    ).toEqual({
      principalId: 'p',
      ip: null,
      deep: [{ actorEmail: 'p', userAgent: null }],
    });
    expect(redactValue({ constructor: 'Bosch', toString: 'x' }, person)).toEqual({
      constructor: 'Bosch',
      toString: 'x',
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

it('the list of stores with data about people describes for each store and table which data about people it contains', () => {
  expect(DATA_STORES.filter(({ personData }) => personData === undefined)).toEqual([]);
  expect(
    COMPANY_TABLES.filter(({ makePersonCondition: makeAboutCondition }) => makeAboutCondition === undefined).map(
      ({ table }) => getControlTableName(table),
    ),
  ).toEqual([]);
});
