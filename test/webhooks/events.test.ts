import { describe, expect, it } from 'vitest';
import migration from '../../drizzle/0038_tell-events.sql?raw';
import { SURFACES } from '../../src/app.ts';
import { EVENT_TABLES } from '../../src/db/event-session.ts';
import { EVENT_TYPES, findEventType, makePayloadSchema } from '../../src/modules/webhooks/event-types.ts';
import { makeColumn } from '../managed-tables/support.ts';
import { createSchedule, SCHEDULES_PATH } from '../schedules/support.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { readApiDescription } from '../support/conformity.ts';
import { createConsoleGroup, createPermission, makeGroupInput, makePolicyInput } from '../support/console.ts';
import { countRows } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { loadFiles, makeFile, readJob, uploadFiles } from '../uploads/support.ts';
import { postDashboard } from '../visualizations/support.ts';
import { ROUTE_EVENTS } from './route-events.ts';
import { createEndpoint, createReceiver, ENDPOINTS_PATH } from './support.ts';

const WRITE_ROUTES = SURFACES.flatMap(({ endpoints }) =>
  endpoints
    .map(({ contract }) => contract)
    .filter(({ method, safe }) => method !== 'get' && !safe)
    .map(({ method, path }) => `${method.toUpperCase()} ${path}`),
);

describe('an API route that writes', () => {
  it('has its webhook event types, or the reason why it has none, listed in test/webhooks/route-events.ts', () => {
    const unlistedRoutes = WRITE_ROUTES.filter((route) => !(route in ROUTE_EVENTS));
    expect(
      unlistedRoutes.map((route) => `${route}: say in test/webhooks/route-events.ts what it tells, or why nothing`),
    ).toEqual([]);
    expect(Object.keys(ROUTE_EVENTS).filter((route) => !WRITE_ROUTES.includes(route))).toEqual([]);
  });

  it('causes every event type, except the types that viewers and the audit stream cause', () => {
    const causedTypes = new Set(
      Object.values(ROUTE_EVENTS).flatMap((types) => (typeof types === 'string' ? [] : types)),
    );
    const otherTypes = EVENT_TYPES.map(({ type }) => type).filter((type) => !causedTypes.has(type));
    expect(otherTypes).toEqual([
      'audit.records',
      'embed.denied',
      'embed.downloaded',
      'embed.executed',
      'share.denied',
      'share.downloaded',
      'share.executed',
      'share.resolved',
    ]);
  });
});

describe('a webhook event type', () => {
  it('has an example that fits its schema, is in OpenAPI, and is listed by the API', async () => {
    const company = await createProvisionedCompany();
    const { records } = await expectSuccess(company.as.get('/v1/webhook-event-types'));
    expect(records.map(({ type }: { type: string }) => type)).toEqual(EVENT_TYPES.map(({ type }) => type));
    expect(Object.keys(readApiDescription().webhooks ?? {})).toEqual(EVENT_TYPES.map(({ type }) => type));
    for (const eventType of EVENT_TYPES) {
      const event = { type: eventType.type, timestamp: '2026-01-31T12:00:00.000Z', data: eventType.example };
      expect([eventType.type, makePayloadSchema(eventType).safeParse(event).error?.issues]).toEqual([
        eventType.type,
        undefined,
      ]);
    }
  });

  it("that a database trigger writes is known, and the session watches the trigger's table", () => {
    const triggerTypes = new Set([...migration.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, type = '']) => type));
    triggerTypes.delete('webhooks.disabled');
    for (const type of triggerTypes) expect(findEventType(type).type).toBe(type);
    const tables = new Set(
      [...migration.matchAll(/AFTER [A-Z]+(?: OF [\w`, ]+)? ON `(\w+)`/g)].map(([, name]) => name),
    );
    tables.delete('webhook_endpoints');
    expect([...tables].toSorted()).toEqual([...EVENT_TABLES].toSorted());
  });
});

const company = await createProvisionedCompany();
const receiver = createReceiver();
await createEndpoint(company, receiver);

describe('a webhook event', () => {
  /** Waits for events of these types, and expects that each event fits its schema. */
  async function waitForEvents(...types: string[]) {
    let events: { type: string; data: Record<string, unknown> }[] = [];
    await expect
      .poll(async () => {
        events = (await receiver.readReceivedRequests()).map(({ event }) => event);
        const receivedTypes = events.map(({ type }) => type);
        return types.filter((type) => !receivedTypes.includes(type));
      })
      .toEqual([]);
    for (const event of events) {
      const { error } = makePayloadSchema(findEventType(event.type)).strict().safeParse(event);
      expect([event.type, error?.issues]).toEqual([event.type, undefined]);
    }
    return (type: string) => events.findLast((event) => event.type === type)?.data;
  }

  it('is sent for changes of users, groups and policies', async () => {
    const { as } = company;
    const group = await expectSuccess(as.post('/v1/groups', { json: makeGroupInput() }));
    await expectSuccess(as.put(`/v1/groups/${group._id}`, { json: { description: 'Changed by a test.' } }));
    const allow = [{ effect: 'Allow', actions: ['dashboards:get'], resources: ['*'] }] as never;
    const policy = await expectSuccess(as.post('/v1/policies', { json: makePolicyInput(allow) }));
    await expectSuccess(as.put(`/v1/policies/${policy._id}`, { json: { description: 'Changed by a test.' } }));
    await as.post(`/v1/groups/${group._id}/policies/${policy._id}`);
    await expectSuccess(as.put('/v1/auth/me', { json: { name: 'Olga 🦉' } }));
    const invitation = { email: 'invited@acme.test', group_ids: [group._id] };
    const invitedUser = await expectSuccess(as.post('/v1/users/invite', { json: invitation }));
    await as.delete(`/v1/groups/${group._id}/policies/${policy._id}`);
    await as.delete(`/v1/policies/${policy._id}`);
    await as.delete(`/v1/users/${invitedUser._id}`);
    await as.delete(`/v1/groups/${group._id}`);
    const account = await expectSuccess(as.post('/v1/service-accounts', { json: { name: 'Loader' } }));
    const path = `/v1/service-accounts/${account._id}`;
    await expectSuccess(as.put(path, { json: { name: 'Reader' } }));
    const key = await expectSuccess(as.post(`${path}/keys`, { json: {} }));
    await as.delete(`${path}/keys/${key._id}`);
    await as.delete(path);
    await expectSuccess(as.put('/v1/company/settings', { json: { locale: 'es' } }));
    const readEventData = await waitForEvents(
      ...['group.created', 'group.updated', 'group.deleted', 'group.member_added', 'group.member_removed'],
      ...['policy.created', 'policy.updated', 'policy.attached', 'policy.detached', 'policy.deleted'],
      ...['user.updated', 'user.invited', 'user.deleted', 'service_account.created', 'service_account.updated'],
      ...['service_account.deleted', 'api_key.issued', 'api_key.revoked', 'company.updated'],
    );
    expect(readEventData('policy.attached')).toEqual({ group_id: group._id, policy_id: policy._id });
    expect(readEventData('company.updated')).toMatchObject({ _id: company.id, locale: 'es' });
    expect(readEventData('user.updated')).toMatchObject({ _id: company.owner.id, name: 'Olga 🦉' });
    const { secret_key: secret, ...shown } = key;
    expect(readEventData('api_key.issued')).toEqual(shown);
    expect(JSON.stringify(await receiver.readReceivedRequests())).not.toContain(secret);
  });

  it('is sent for a group when a permission that it lists is deleted', async () => {
    const permissionId = await createPermission(company);
    const { _id } = await createConsoleGroup(company, { permissionIds: [permissionId] });
    expect((await company.as.delete(`/v1/permissions/${permissionId}`)).status).toBe(204);
    await expect
      .poll(async () => (await receiver.readReceivedRequests()).map(({ event }) => event))
      .toContainEqual(
        expect.objectContaining({ type: 'group.updated', data: expect.objectContaining({ _id, permissionIds: [] }) }),
      );
  });

  it('is sent for tables and uploads, without the value of a cell', async () => {
    const { as } = company;
    const path = '/v1/managed-tables';
    const table = await expectSuccess(as.post(path, { json: { display_name: 'told', columns: [makeColumn('a')] } }));
    await expectSuccess(as.put(`${path}/${table._id}`, { json: { display_name: 'told_anew' } }));
    await expectSuccess(as.post(`${path}/${table._id}/truncate`));
    const job = await uploadFiles(company, [makeFile('n.csv', 'a\ncell-of-a-table\n')], { into: table._id });
    await waitForEvents('upload.waiting_confirm');
    await as.post(`${path}/upload-jobs/${job}/cancel`);
    await as.delete(`${path}/${table._id}`);
    await expectSuccess(as.post(`${path}/${table._id}/restore`));
    const readEventData = await waitForEvents(
      ...['table.created', 'table.updated', 'table.truncated', 'table.deleted', 'table.restored', 'upload.failed'],
    );
    expect(readEventData('table.updated')).toMatchObject({ _id: table._id, display_name: 'told_anew', row_count: 0 });
    const { inferred_schema: _, ...cancelled } = await readJob(company, job);
    expect(readEventData('upload.failed')).toEqual({
      ...cancelled,
      created_by_user_id: company.owner.id,
      error_code: 'CANCELLED',
    });
    expect(JSON.stringify(await receiver.readReceivedRequests())).not.toContain('cell-of-a-table');
  });

  it('is sent for an upload with a value that does not fit, without that value', async () => {
    const columns = [makeColumn('n', 'integer')];
    const { _id } = await expectSuccess(
      company.as.post('/v1/managed-tables', { json: { display_name: 'misfit', columns } }),
    );
    const file = makeFile('n.csv', 'n\n3\ncell-that-misfits\n');
    const { inferred_schema: _, error, ...failed } = await loadFiles(company, [file], {}, { into: _id });
    const { value, message, ...place } = error;
    expect(value).toBe('cell-that-misfits');
    await expect
      .poll(
        async () =>
          (await receiver.readReceivedRequests()).findLast(({ event }) => event.data._id === failed._id)?.event.data,
      )
      .toEqual({
        ...failed,
        created_by_user_id: company.owner.id,
        error: { ...place, message: message.replace(value, '…') },
        error_code: error.code,
      });
    expect(JSON.stringify(await receiver.readReceivedRequests())).not.toContain(value);
  });

  it('is sent for a paused schedule, with what its record shows', async () => {
    const recipients = [{ user_id: company.owner.id }];
    const { _id } = await createSchedule(company.as, await postDashboard(company.as, []), { recipients });
    const other = { user_id: (await createAllowedUser(company)).id };
    const json = { status: 'paused', recipients: [other, ...recipients], time_zone: 'America/Sao_Paulo' };
    const pausedSchedule = await expectSuccess(company.as.put(`${SCHEDULES_PATH}/${_id}`, { json }));
    const getEventData = await waitForEvents('schedule.paused');
    expect(getEventData('schedule.paused')).toEqual({ ...pausedSchedule, company_id: company.id });
  });

  it('is sent for a new share', async () => {
    const dashboard = await postDashboard(company.as, []);
    await expectSuccess(
      company.as.post(`/api/v1/dashboards/${dashboard._id}/shares`, { json: { share_type: 'link' } }),
    );
    const readEventData = await waitForEvents('share.created');
    expect(readEventData('share.created')).toMatchObject({ target_id: dashboard._id, actor: { id: company.owner.id } });
  });

  it('is written in one transaction with its change: neither exists without the other', async () => {
    const { as } = company;
    const input = makeGroupInput();
    const { _id: first } = await expectSuccess(as.post('/v1/groups', { json: input }));
    await expect
      .poll(async () => (await receiver.readReceivedRequests()).map(({ event }) => event.data._id))
      .toContain(first);
    await expect.poll(() => countRows('events')).toBe(0);
    const countGroupEvents = async () =>
      (await receiver.readReceivedRequests()).filter(({ event }) => event.type === 'group.created').length;
    const eventsBefore = await countGroupEvents();
    expect((await as.post('/v1/groups', { json: input })).status).toBe(409);
    // What was written is there although nobody was told: the queue is away.
    const failingQueue = { WEBHOOKS: { send: failToSend, sendBatch: failToSend } };
    const createdGroup = await expectSuccess(
      as.post('/v1/groups', { json: makeGroupInput(), env: failingQueue } as never),
    );
    expect(await countRows("events where type = 'group.created' and record ->> 'id' = ?", createdGroup._id)).toBe(1);
    expect(await countGroupEvents()).toBe(eventsBefore);
    await expectSuccess(as.put('/v1/company/settings', { json: { locale: 'en' } }));
    await expect
      .poll(
        async () =>
          (await receiver.readReceivedRequests()).filter(({ event }) => event.data._id === createdGroup._id).length,
      )
      .toBe(1);
  });

  it('is not stored in a company without an active endpoint', async () => {
    const other = await createProvisionedCompany();
    const { _id } = await createEndpoint(other, createReceiver());
    await expectSuccess(other.as.put(`${ENDPOINTS_PATH}/${_id}`, { json: { status: 'paused' } }));
    await expectSuccess(other.as.post('/v1/groups', { json: makeGroupInput() }));
    expect(await countRows('events where company_id = ?', other.id)).toBe(0);
  });
});

const failToSend = () => Promise.reject(new Error('The queue is away.'));
