import { beforeAll, describe, expect, it } from 'vitest';
import { aContext, dashboardGrant } from '../share-portal/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { readInvalidFields, UNKNOWN_ID } from '../support/console.ts';
import { selectRow } from '../support/rival.ts';
import { allow, aServiceAccountThat, must, withServiceToken } from '../support/signed.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import {
  aDashboard,
  aVisualization,
  DASHBOARDS_PATH,
  parameter,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';
import { createSchedule, makeScheduleInput, SCHEDULES_PATH } from './support.ts';

type Made = Awaited<ReturnType<typeof aVisualization>>;

let company: Company;
let visualization: Made;
let dashboard: Made;
let me: { user_id: string };

beforeAll(async () => {
  company = await aCompany();
  visualization = await aVisualization(company.as, 'SELECT 1 AS one');
  dashboard = await aDashboard(company.as, [visualization]);
  me = { user_id: company.owner.id };
});

const postSchedule = (json: Record<string, unknown>, target = dashboard, as = company.as) =>
  as.post(SCHEDULES_PATH, { json: makeScheduleInput(target, { recipients: [me], ...json }) });

const makeCondition = (more: object) => ({
  condition: { visualization_id: visualization._id, column: 'one', op: 'gt', value: 1, ...more },
});

describe('a schedule', () => {
  it('is made, read, listed, changed and deleted', async () => {
    const sent = {
      name: 'Numbers of the day',
      target_type: 'dashboard',
      target_id: dashboard._id,
      parameters: {},
      cron: '0 8 * * 1-5',
      time_zone: 'America/Sao_Paulo',
      recipients: [me],
      format: 'xlsx',
      condition: { visualization_id: visualization._id, column: 'one', op: 'gt', value: 0 },
      status: 'active',
    };
    const { status, body, headers } = await company.as.post(SCHEDULES_PATH, { json: sent });
    expect([status, body]).toEqual([
      201,
      {
        ...sent,
        _id: expect.stringMatching(/^[a-f0-9]{24}$/),
        unsubscribed: [],
        next_run_at: expect.stringMatching(/T11:00:00\.000Z$/),
        last_run: null,
        created_by_user_id: company.owner.id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    const path = `${SCHEDULES_PATH}/${body._id}`;
    expect(headers.get('location')).toBe(path);
    const read = await company.as.get(path);
    expect(read.body).toEqual(body);
    expect(read.headers.get('etag')).toMatch(/^".+"$/);
    expect((await company.as.get(`${SCHEDULES_PATH}?search=of THE`)).body).toEqual({
      total: 1,
      quantity: 1,
      records: [body],
    });
    expect((await company.as.get(`${SCHEDULES_PATH}?search=nothing`)).body.total).toBe(0);

    const paused = await must(company.as.put(path, { json: { status: 'paused', condition: null } }));
    expect(paused).toMatchObject({ status: 'paused', next_run_at: null, condition: null, name: sent.name });
    const again = await must(
      company.as.put(path, { json: { status: 'active', cron: '30 9 * * *', time_zone: 'UTC' } }),
    );
    expect(again.next_run_at).toMatch(/T09:30:00\.000Z$/);

    expect((await company.as.delete(path)).status).toBe(204);
    for (const method of ['get', 'delete'] as const) {
      const gone = await company.as[method](path);
      expect([gone.status, gone.body.error]).toEqual([404, 'SCHEDULE_NOT_FOUND']);
    }
  });

  it('has defaults for all optional fields', async () => {
    const json = {
      name: 'Short',
      target_type: 'visualization',
      target_id: visualization._id,
      cron: '0 8 * * *',
      recipients: [me],
    };
    expect(await must(company.as.post(SCHEDULES_PATH, { json }))).toMatchObject({
      parameters: {},
      time_zone: 'UTC',
      format: 'summary',
      condition: null,
      status: 'active',
    });
  });

  it.each<[string, () => Record<string, unknown>, string]>([
    ['an empty name', () => ({ name: ' ' }), 'name'],
    ['an unknown type of target', () => ({ target_type: 'table' }), 'target_type'],
    ['an unknown parameter', () => ({ parameters: { nothing: 1 } }), 'parameters.nothing'],
    ['parameters that are a list', () => ({ parameters: [1] }), 'parameters'],
    ['parameters of 20,000 characters', () => ({ parameters: { a: 'x'.repeat(20_000) } }), 'parameters'],
    ['an invalid cron expression', () => ({ cron: 'every day' }), 'cron'],
    ['a cron expression that never occurs', () => ({ cron: '0 0 31 2 *' }), 'cron'],
    ['a cron expression with seconds', () => ({ cron: '* * * * * *' }), 'cron'],
    ['a cron expression for every minute', () => ({ cron: '* * * * *' }), 'cron'],
    ['a cron expression of 101 characters', () => ({ cron: `0 8 * * ${'1,'.repeat(50)}1` }), 'cron'],
    ['an unknown time zone', () => ({ time_zone: 'Mars/Olympus' }), 'time_zone'],
    ['an offset as time zone', () => ({ time_zone: '+05:00' }), 'time_zone'],
    ['no recipients', () => ({ recipients: [] }), 'recipients'],
    [
      '51 recipients',
      () => ({ recipients: Array.from({ length: 51 }, (_, n) => ({ email: `n${n}@x.test` })) }),
      'recipients',
    ],
    ['a recipient twice', () => ({ recipients: [me, me] }), 'recipients.1'],
    [
      'an address twice, in lower and upper case',
      () => ({ recipients: [{ email: 'a@x.test' }, { email: 'A@X.test' }] }),
      'recipients.1',
    ],
    ['a recipient without user or address', () => ({ recipients: [{}] }), 'recipients.0'],
    ['a recipient with both user and address', () => ({ recipients: [{ ...me, email: 'a@x.test' }] }), 'recipients.0'],
    ['a recipient with an unknown field', () => ({ recipients: [{ ...me, name: 'Ina' }] }), 'recipients.0.name'],
    ['a recipient with an invalid address', () => ({ recipients: [{ email: 'nobody' }] }), 'recipients.0.email'],
    ['a user who does not exist', () => ({ recipients: [{ user_id: UNKNOWN_ID }] }), 'recipients.0.user_id'],
    ['an address that may not see it', () => ({ recipients: [me, { email: 'a@x.test' }] }), 'recipients.1.email'],
    ['an unknown format', () => ({ format: 'pdf' }), 'format'],
    ['an unknown status', () => ({ status: 'inactive' }), 'status'],
    ['an unknown operator', () => makeCondition({ op: 'like' }), 'condition.op'],
    ['a comparison without a value', () => makeCondition({ value: null }), 'condition.value'],
    ['a value for the operator changed', () => makeCondition({ op: 'changed' }), 'condition.value'],
    ['a list as the value of a comparison', () => makeCondition({ value: [1] }), 'condition.value'],
    [
      'a condition on another chart',
      () => makeCondition({ visualization_id: UNKNOWN_ID }),
      'condition.visualization_id',
    ],
  ])('is refused with %s', async (_name, wrong, field) => {
    expect(readInvalidFields(await postSchedule(wrong()))).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it('sends only dashboards and visualizations of its own company, to its own users', async () => {
    const stranger = await aCompany();
    const foreign = await aVisualization(stranger.as, 'SELECT 1 AS one');
    for (const target_id of [UNKNOWN_ID, foreign._id, 'no-id']) {
      const one = await postSchedule({ target_type: 'visualization', target_id });
      expect([one.status, one.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
      const other = await postSchedule({ target_id });
      expect([other.status, other.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    }
    const { user_id } = { user_id: stranger.owner.id };
    expect(readInvalidFields(await postSchedule({ recipients: [{ user_id }] }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'recipients.0.user_id',
    ]);
  });

  it('needs parameters that fit the dashboard that it sends', async () => {
    const filters = [{ slug: 'region', label: 'Region', kind: 'select', required: true }];
    const regional = await aVisualization(company.as, 'SELECT {{region}} AS region', {
      parameters: [parameter('region', 'select')],
    });
    const target = await aDashboard(company.as, [regional], { filters });
    expect(readInvalidFields(await postSchedule({}, target))).toEqual([422, 'VALIDATION_ERROR', 'parameters.region']);
    expect(readInvalidFields(await postSchedule({ parameters: { region: ['a', 'b'] } }, target))[2]).toBe(
      'parameters.region',
    );
    const { _id } = await must(postSchedule({ parameters: { region: 'north' } }, target));
    const changed = await company.as.put(`${SCHEDULES_PATH}/${_id}`, { json: { parameters: {} } });
    expect(readInvalidFields(changed)).toEqual([422, 'VALIDATION_ERROR', 'parameters.region']);
  });

  it('is deleted with the dashboard or visualization that it sends', async () => {
    const chart = await aVisualization(company.as, 'SELECT 1 AS one');
    const target = await aDashboard(company.as, [chart]);
    const ofDashboard = await createSchedule(company.as, target, { recipients: [me] });
    const ofChart = await createSchedule(company.as, chart, { recipients: [me] });
    const get = async ({ _id }: { _id: string }) => (await company.as.get(`${SCHEDULES_PATH}/${_id}`)).status;
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)).status).toBe(409);
    expect([await get(ofDashboard), await get(ofChart)]).toEqual([200, 200]);
    await must(company.as.delete(`${DASHBOARDS_PATH}/${target._id}`));
    expect([await get(ofDashboard), await get(ofChart)]).toEqual([404, 200]);
    await must(company.as.delete(`${VISUALIZATIONS_PATH}/${chart._id}`));
    expect([await get(ofDashboard), await get(ofChart)]).toEqual([404, 404]);
    expect(
      await selectRow('select * from schedule_recipients where schedule_id in (?, ?)', ofDashboard._id, ofChart._id),
    ).toBeNull();
  });

  it('is refused if the company has a thousand already', async () => {
    const full = await aCompany();
    const chart = await aVisualization(full.as, 'SELECT 1 AS one');
    const { _id } = await createSchedule(full.as, chart, { recipients: [{ user_id: full.owner.id }] });
    await selectRow(
      `insert into schedules (id, company_id, name, target_type, target_id, parameters, cron, time_zone, format, status, failures, api_url, version, created_by_user_id, created_at, updated_at)
       select printf('%024x', n.value), company_id, name, target_type, target_id, parameters, cron, time_zone, format, 'paused', 0, api_url, 1, created_by_user_id, created_at, updated_at
       from schedules join json_each(?) as n where schedules.id = ? returning id`,
      JSON.stringify(Array.from({ length: 999 }, (_, n) => n + 1)),
      _id,
    );
    const json = makeScheduleInput(chart, { recipients: [{ user_id: full.owner.id }] });
    const { status, body } = await full.as.post(SCHEDULES_PATH, { json });
    expect([status, body.error]).toEqual([409, 'TOO_MANY_SCHEDULES']);
    await must(full.as.delete(`${SCHEDULES_PATH}/${_id}`));
    await must(full.as.post(SCHEDULES_PATH, { json }));
  });
});

describe('the permission to schedule', () => {
  const arn = (type: string, id: string) => `arn:svc:${type}s::${company.id}:${type}/${id}`;

  it('on one dashboard shows schedules of it only', async () => {
    const other = await aDashboard(company.as, [visualization]);
    const { as, id } = await aUser(company, { can: ['dashboards:schedule'], on: [arn('dashboard', dashboard._id)] });
    const mine = await must(postSchedule({ name: 'Mine', recipients: [{ user_id: id }] }, dashboard, as));
    const theirs = await createSchedule(company.as, other, { recipients: [me] });
    const ofChart = await createSchedule(company.as, visualization, { recipients: [me] });
    const { records } = await must(as.get(`${SCHEDULES_PATH}?per_page=100`));
    const ids = records.map(({ _id }: { _id: string }) => _id);
    expect([ids.includes(mine._id), ids.includes(theirs._id), ids.includes(ofChart._id)]).toEqual([true, false, false]);
    expect((await as.get(`${SCHEDULES_PATH}/${UNKNOWN_ID}`)).status).toBe(403);
  });

  it.each(['dashboard', 'visualization'] as const)('is taken away by a Deny to get the %s', async (type) => {
    const target = type === 'dashboard' ? dashboard : visualization;
    const { _id } = await createSchedule(company.as, target, { recipients: [me] });
    const action = `${type}s:get`;
    const { as } = await aUser(company, { can: ['*'], denied: [action], deniedOn: [arn(type, target._id)] });
    const path = `${SCHEDULES_PATH}/${_id}`;
    const { records } = await must(as.get(`${SCHEDULES_PATH}?per_page=100`));
    expect(JSON.stringify(records)).not.toContain(target._id);
    for (const answer of [as.get(path), as.put(path, { json: { format: 'csv' } }), as.post(`${path}/run`)]) {
      const { status, body } = await answer;
      expect([status, body.details.action]).toEqual([403, action]);
    }
    // What one may not see can be ended all the same.
    expect(await must(as.put(path, { json: { status: 'paused' } }))).toEqual({ _id });
    await must(as.delete(path));
  });

  it.each([
    {
      who: 'is denied the visualization',
      rights: {
        can: ['dashboards:*'],
        denied: ['visualizations:execute'],
        deniedOn: (on: { visualization: string }) => [on.visualization],
      },
      action: 'visualizations:execute',
    },
    { who: 'may not open the dashboard', rights: { can: ['dashboards:schedule'] }, action: 'dashboards:get' },
  ])('allows no condition from a user who $who', async ({ rights: { deniedOn, ...rights }, action }) => {
    const on = { visualization: arn('visualization', visualization._id) };
    const { as, id } = await aUser(company, { ...rights, ...(deniedOn && { deniedOn: deniedOn(on) }) });
    const refused = async (answer: Promise<ApiResponse>) => {
      const { status, body } = await answer;
      expect([status, body.details.action]).toEqual([403, action]);
    };
    const asked = makeCondition({});
    const { _id } = await must(postSchedule(asked));
    const plain = await must(postSchedule({}));
    const put = (schedule: string, json: object) => as.put(`${SCHEDULES_PATH}/${schedule}`, { json });
    await refused(postSchedule(asked, dashboard, as));
    await refused(put(plain._id, asked));
    for (const change of [
      { parameters: {} },
      { condition: null },
      { recipients: [{ user_id: id }] },
      { status: 'active' },
      { status: 'paused', name: 'x' },
      {},
    ]) {
      await refused(put(_id, change));
    }
    await refused(as.post(`${SCHEDULES_PATH}/${_id}/run`));
    expect((await as.post(`${SCHEDULES_PATH}/${plain._id}/run`)).status).toBe(deniedOn ? 403 : 202);
    // Whoever looks after the dashboard can have it end.
    expect((await must(put(_id, { status: 'paused' }))).status).toBe('paused');
    await must(as.delete(`${SCHEDULES_PATH}/${_id}`));
  });

  it('can be held by a service account', async () => {
    const robot = await aServiceAccountThat(company, allow('dashboards:schedule'));
    const made = await must(postSchedule({}, dashboard, await withServiceToken(robot)));
    expect(made.created_by_user_id).toMatch(/^[a-f0-9]{24}$/);
  });
});

describe('an address as recipient of a schedule', () => {
  it('must be a member of a context that grants what is sent', async () => {
    const email = `member@${company.slug}.test`;
    const other = await aDashboard(company.as, [visualization]);
    await aContext(company, [dashboardGrant(other._id)], [email]);
    expect(readInvalidFields(await postSchedule({ recipients: [{ email }] }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'recipients.0.email',
    ]);
    const { recipients } = await must(postSchedule({ recipients: [{ email: email.toUpperCase() }] }, other));
    expect(recipients).toEqual([{ email }]);
    const grant = { target_type: 'visualization', target_id: visualization._id, filter_policies: [] };
    await aContext(company, [grant], [email]);
    await must(postSchedule({ recipients: [{ email }] }, visualization));
  });

  it('is refused with parameters that its context does not let it choose', async () => {
    const email = `bound@${company.slug}.test`;
    const regional = await aVisualization(company.as, 'SELECT {{region}} AS region', {
      parameters: [parameter('region', 'select')],
    });
    const filters = [{ slug: 'region', label: 'Region', kind: 'select' }];
    const target = await aDashboard(company.as, [regional], { filters });
    const policy = { filter_slug: 'region', filter_kind: 'select', mode: 'locked', allowed_values: ['south'] };
    await aContext(company, [dashboardGrant(target._id, [policy])], [email]);
    const refused = await postSchedule({ recipients: [{ email }], parameters: { region: 'north' } }, target);
    expect(readInvalidFields(refused)).toEqual([422, 'VALIDATION_ERROR', 'recipients.0.email']);
    const { _id } = await must(postSchedule({ recipients: [{ email }] }, target));
    const changed = await company.as.put(`${SCHEDULES_PATH}/${_id}`, { json: { parameters: { region: 'south' } } });
    expect(readInvalidFields(changed)).toEqual([422, 'VALIDATION_ERROR', 'recipients.0.email']);
  });

  it('that is no longer a member does not keep users from changing the schedule', async () => {
    const email = `gone@${company.slug}.test`;
    const { id, members } = await aContext(company, [dashboardGrant(dashboard._id)], [email]);
    const { _id } = await must(postSchedule({ recipients: [me, { email }] }));
    const [member] = members as [{ id: string }];
    await must(company.as.delete(`/api/v1/share-contexts/${id}/members/${member.id}`));
    const put = (json: object) => company.as.put(`${SCHEDULES_PATH}/${_id}`, { json });
    expect((await put({ name: 'Another', recipients: [me, { email }] })).status).toBe(200);
    expect((await put({ recipients: [me] })).status).toBe(200);
    expect(readInvalidFields(await put({ recipients: [me, { email }] }))[2]).toBe('recipients.1.email');
  });
});
