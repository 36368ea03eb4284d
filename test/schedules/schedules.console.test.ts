import { describe, expect, it } from 'vitest';
import { createShareContext, makeDashboardGrant } from '../share-portal/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readInvalidFields, UNKNOWN_ID } from '../support/console.ts';
import { selectRow } from '../support/race.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import {
  DASHBOARDS_PATH,
  makeParameter,
  postDashboard,
  postVisualization,
  VISUALIZATIONS_PATH,
} from '../visualizations/support.ts';
import { createSchedule, makeScheduleInput, SCHEDULES_PATH } from './support.ts';

const company = await createOwnedCompany();
const visualization = await postVisualization(company.as, 'SELECT 1 AS one');
const dashboard = await postDashboard(company.as, [visualization]);
const me = { user_id: company.owner.id };

const postSchedule = (json: Record<string, unknown>, target = dashboard, as = company.as) =>
  as.post(SCHEDULES_PATH, { json: makeScheduleInput(target, { recipients: [me], ...json }) });

const makeCondition = (otherFields: object) => ({
  condition: { visualization_id: visualization._id, column: 'one', op: 'gt', value: 1, ...otherFields },
});

describe('a schedule', () => {
  it('is created, read, listed, changed and deleted', async () => {
    const scheduleInput = {
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
    const { status, body, headers } = await company.as.post(SCHEDULES_PATH, { json: scheduleInput });
    expect([status, body]).toEqual([
      201,
      {
        ...scheduleInput,
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
    const foundAnswer = await company.as.get(path);
    expect(foundAnswer.body).toEqual(body);
    expect(foundAnswer.headers.get('etag')).toMatch(/^".+"$/);
    expect((await company.as.get(`${SCHEDULES_PATH}?search=of THE`)).body).toEqual({
      total: 1,
      quantity: 1,
      records: [body],
    });
    expect((await company.as.get(`${SCHEDULES_PATH}?search=nothing`)).body.total).toBe(0);

    const pausedSchedule = await expectSuccess(company.as.put(path, { json: { status: 'paused', condition: null } }));
    expect(pausedSchedule).toMatchObject({
      status: 'paused',
      next_run_at: null,
      condition: null,
      name: scheduleInput.name,
    });
    const resumedSchedule = await expectSuccess(
      company.as.put(path, { json: { status: 'active', cron: '30 9 * * *', time_zone: 'UTC' } }),
    );
    expect(resumedSchedule.next_run_at).toMatch(/T09:30:00\.000Z$/);

    expect((await company.as.delete(path)).status).toBe(204);
    for (const method of ['get', 'delete'] as const) {
      const deletedAnswer = await company.as[method](path);
      expect([deletedAnswer.status, deletedAnswer.body.error]).toEqual([404, 'SCHEDULE_NOT_FOUND']);
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
    expect(await expectSuccess(company.as.post(SCHEDULES_PATH, { json }))).toMatchObject({
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
    ['a comparison without a value', () => makeCondition({ value: null }), 'condition.value'],
    ['a value for the operator changed', () => makeCondition({ op: 'changed' }), 'condition.value'],
    ['a list as the value of a comparison', () => makeCondition({ value: [1] }), 'condition.value'],
    [
      'a condition on another chart',
      () => makeCondition({ visualization_id: UNKNOWN_ID }),
      'condition.visualization_id',
    ],
  ])('is refused with %s', async (_name, wrongFields, field) => {
    expect(readInvalidFields(await postSchedule(wrongFields()))).toEqual([422, 'VALIDATION_ERROR', field]);
  });

  it('sends only dashboards and visualizations of its own company, to its own users', async () => {
    const otherCompany = await createOwnedCompany();
    const foreignChart = await postVisualization(otherCompany.as, 'SELECT 1 AS one');
    for (const target_id of [UNKNOWN_ID, foreignChart._id, 'no-id']) {
      const foreignSchedule = await postSchedule({ target_type: 'visualization', target_id });
      expect([foreignSchedule.status, foreignSchedule.body.error]).toEqual([404, 'VISUALIZATION_NOT_FOUND']);
      const other = await postSchedule({ target_id });
      expect([other.status, other.body.error]).toEqual([404, 'DASHBOARD_NOT_FOUND']);
    }
    const { user_id } = { user_id: otherCompany.owner.id };
    expect(readInvalidFields(await postSchedule({ recipients: [{ user_id }] }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'recipients.0.user_id',
    ]);
  });

  it('requires parameters that fit the dashboard that it sends', async () => {
    const filters = [{ slug: 'region', label: 'Region', kind: 'select', required: true }];
    const regionalChart = await postVisualization(company.as, 'SELECT {{region}} AS region', {
      parameters: [makeParameter('region', 'select')],
    });
    const target = await postDashboard(company.as, [regionalChart], { filters });
    expect(readInvalidFields(await postSchedule({}, target))).toEqual([422, 'VALIDATION_ERROR', 'parameters.region']);
    expect(readInvalidFields(await postSchedule({ parameters: { region: ['a', 'b'] } }, target))[2]).toBe(
      'parameters.region',
    );
    const { _id } = await expectSuccess(postSchedule({ parameters: { region: 'north' } }, target));
    const changedSchedule = await company.as.put(`${SCHEDULES_PATH}/${_id}`, { json: { parameters: {} } });
    expect(readInvalidFields(changedSchedule)).toEqual([422, 'VALIDATION_ERROR', 'parameters.region']);
  });

  it('can be paused, renamed and put unchanged when its target has changed, but is resumed only when it fits the target', async () => {
    const sentSql = 'SELECT 1 AS one, {{first}} AS first, {{second}} AS second';
    const sentParameters = [makeParameter('first', 'text'), makeParameter('second', 'text')];
    const chart = await postVisualization(company.as, sentSql, { parameters: sentParameters });
    const target = await postDashboard(company.as, [chart]);
    const condition = { visualization_id: chart._id, column: 'one', op: 'gt', value: 1 };
    const chartSchedule = await createSchedule(company.as, chart, {
      recipients: [me],
      parameters: { first: 'a', second: 'b' },
    });
    const dashboardSchedule = await createSchedule(company.as, target, { recipients: [me], condition });
    const parameters = [...sentParameters, makeParameter('region', 'text', { required: true })];
    const sql = `${sentSql}, {{region}} AS region`;
    await expectSuccess(company.as.put(`${VISUALIZATIONS_PATH}/${chart._id}`, { json: { sql, parameters } }));
    await expectSuccess(company.as.put(`${DASHBOARDS_PATH}/${target._id}`, { json: { layout: [] } }));

    for (const [{ _id }, field] of [
      [chartSchedule, 'parameters.region'],
      [dashboardSchedule, 'condition.visualization_id'],
    ] as const) {
      const path = `${SCHEDULES_PATH}/${_id}`;
      const putSchedule = (json: object) => company.as.put(path, { json });
      await expectSuccess(putSchedule({ status: 'paused' }));
      await expectSuccess(putSchedule({ name: 'Renamed', cron: '30 8 * * *' }));
      await expectSuccess(putSchedule(await expectSuccess(company.as.get(path))));
      expect(readInvalidFields(await putSchedule({ status: 'active' }))).toEqual([422, 'VALIDATION_ERROR', field]);
    }
    const reorderedParameters = { parameters: { second: 'b', first: 'a' } };
    await expectSuccess(company.as.put(`${SCHEDULES_PATH}/${chartSchedule._id}`, { json: reorderedParameters }));
    await expectSuccess(
      company.as.put(`${SCHEDULES_PATH}/${dashboardSchedule._id}`, { json: { status: 'active', condition: null } }),
    );
  });

  it('is deleted with the dashboard or visualization that it sends', async () => {
    const chart = await postVisualization(company.as, 'SELECT 1 AS one');
    const target = await postDashboard(company.as, [chart]);
    const dashboardSchedule = await createSchedule(company.as, target, { recipients: [me] });
    const chartSchedule = await createSchedule(company.as, chart, { recipients: [me] });
    const readStatus = async ({ _id }: { _id: string }) => (await company.as.get(`${SCHEDULES_PATH}/${_id}`)).status;
    expect((await company.as.delete(`${VISUALIZATIONS_PATH}/${chart._id}`)).status).toBe(409);
    expect([await readStatus(dashboardSchedule), await readStatus(chartSchedule)]).toEqual([200, 200]);
    await expectSuccess(company.as.delete(`${DASHBOARDS_PATH}/${target._id}`));
    expect([await readStatus(dashboardSchedule), await readStatus(chartSchedule)]).toEqual([404, 200]);
    await expectSuccess(company.as.delete(`${VISUALIZATIONS_PATH}/${chart._id}`));
    expect([await readStatus(dashboardSchedule), await readStatus(chartSchedule)]).toEqual([404, 404]);
    expect(
      await selectRow(
        'select * from schedule_recipients where schedule_id in (?, ?)',
        dashboardSchedule._id,
        chartSchedule._id,
      ),
    ).toBeNull();
  });

  it('is refused if the company has a thousand already', async () => {
    const fullCompany = await createOwnedCompany();
    const chart = await postVisualization(fullCompany.as, 'SELECT 1 AS one');
    const { _id } = await createSchedule(fullCompany.as, chart, { recipients: [{ user_id: fullCompany.owner.id }] });
    await selectRow(
      `insert into schedules (id, company_id, name, target_type, target_id, parameters, cron, time_zone, format, status, failures, api_url, version, created_by_user_id, created_at, updated_at)
       select printf('%024x', n.value), company_id, name, target_type, target_id, parameters, cron, time_zone, format, 'paused', 0, api_url, 1, created_by_user_id, created_at, updated_at
       from schedules join json_each(?) as n where schedules.id = ? returning id`,
      JSON.stringify(Array.from({ length: 999 }, (_, n) => n + 1)),
      _id,
    );
    const json = makeScheduleInput(chart, { recipients: [{ user_id: fullCompany.owner.id }] });
    const { status, body } = await fullCompany.as.post(SCHEDULES_PATH, { json });
    expect([status, body.error]).toEqual([409, 'TOO_MANY_SCHEDULES']);
    await expectSuccess(fullCompany.as.delete(`${SCHEDULES_PATH}/${_id}`));
    await expectSuccess(fullCompany.as.post(SCHEDULES_PATH, { json }));
  });
});

describe('the permission to schedule', () => {
  const makeArn = (type: string, id: string) => `arn:svc:${type}s::${company.id}:${type}/${id}`;

  it('for one dashboard shows only the schedules of that dashboard', async () => {
    const otherDashboard = await postDashboard(company.as, [visualization]);
    const { as, id } = await createAllowedUser(company, {
      can: ['dashboards:schedule'],
      on: [makeArn('dashboard', dashboard._id)],
    });
    const ownSchedule = await expectSuccess(
      postSchedule({ name: 'Mine', recipients: [{ user_id: id }] }, dashboard, as),
    );
    const otherSchedule = await createSchedule(company.as, otherDashboard, { recipients: [me] });
    const chartSchedule = await createSchedule(company.as, visualization, { recipients: [me] });
    const { records } = await expectSuccess(as.get(`${SCHEDULES_PATH}?per_page=100`));
    const ids = records.map(({ _id }: { _id: string }) => _id);
    expect([ids.includes(ownSchedule._id), ids.includes(otherSchedule._id), ids.includes(chartSchedule._id)]).toEqual([
      true,
      false,
      false,
    ]);
    expect((await as.get(`${SCHEDULES_PATH}/${UNKNOWN_ID}`)).status).toBe(403);
  });

  it.each(['dashboard', 'visualization'] as const)('is taken away by a Deny to get the %s', async (type) => {
    const target = type === 'dashboard' ? dashboard : visualization;
    const { _id } = await createSchedule(company.as, target, { recipients: [me] });
    const action = `${type}s:get`;
    const { as } = await createAllowedUser(company, {
      can: ['*'],
      denied: [action],
      deniedArns: [makeArn(type, target._id)],
    });
    const path = `${SCHEDULES_PATH}/${_id}`;
    const { records } = await expectSuccess(as.get(`${SCHEDULES_PATH}?per_page=100`));
    expect(JSON.stringify(records)).not.toContain(target._id);
    for (const answer of [as.get(path), as.put(path, { json: { format: 'csv' } }), as.post(`${path}/run`)]) {
      const { status, body } = await answer;
      expect([status, body.details.action]).toEqual([403, action]);
    }
    // What one may not see can be ended all the same.
    expect(await expectSuccess(as.put(path, { json: { status: 'paused' } }))).toEqual({ _id });
    await expectSuccess(as.delete(path));
  });

  it.each([
    {
      who: 'is denied the visualization',
      rights: {
        can: ['dashboards:*'],
        denied: ['visualizations:execute'],
        makeDeniedArns: (on: { visualization: string }) => [on.visualization],
      },
      action: 'visualizations:execute',
    },
    { who: 'may not open the dashboard', rights: { can: ['dashboards:schedule'] }, action: 'dashboards:get' },
  ])('allows no condition from a user who $who', async ({ rights: { makeDeniedArns, ...rights }, action }) => {
    const on = { visualization: makeArn('visualization', visualization._id) };
    const { as, id } = await createAllowedUser(company, {
      ...rights,
      ...(makeDeniedArns && { deniedArns: makeDeniedArns(on) }),
    });
    const expectRefused = async (answer: Promise<ApiResponse>) => {
      const { status, body } = await answer;
      expect([status, body.details.action]).toEqual([403, action]);
    };
    const conditionInput = makeCondition({});
    const { _id } = await expectSuccess(postSchedule(conditionInput));
    const plainSchedule = await expectSuccess(postSchedule({}));
    const putSchedule = (schedule: string, json: object) => as.put(`${SCHEDULES_PATH}/${schedule}`, { json });
    await expectRefused(postSchedule(conditionInput, dashboard, as));
    await expectRefused(putSchedule(plainSchedule._id, conditionInput));
    for (const change of [
      { parameters: {} },
      { condition: null },
      { recipients: [{ user_id: id }] },
      { status: 'active' },
      { status: 'paused', name: 'x' },
      {},
    ]) {
      await expectRefused(putSchedule(_id, change));
    }
    await expectRefused(as.post(`${SCHEDULES_PATH}/${_id}/run`));
    expect((await as.post(`${SCHEDULES_PATH}/${plainSchedule._id}/run`)).status).toBe(makeDeniedArns ? 403 : 202);
    // Whoever looks after the dashboard can have it end.
    expect((await expectSuccess(putSchedule(_id, { status: 'paused' }))).status).toBe('paused');
    await expectSuccess(as.delete(`${SCHEDULES_PATH}/${_id}`));
  });

  it('can be held by a service account', async () => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('dashboards:schedule'));
    const createdSchedule = await expectSuccess(postSchedule({}, dashboard, await createTokenCaller(serviceAccount)));
    expect(createdSchedule.created_by_user_id).toMatch(/^[a-f0-9]{24}$/);
  });
});

describe('an address as recipient of a schedule', () => {
  it('must be a member of a context that grants the dashboard or visualization that is sent', async () => {
    const email = `member@${company.slug}.test`;
    const otherDashboard = await postDashboard(company.as, [visualization]);
    await createShareContext(company, [makeDashboardGrant(otherDashboard._id)], [email]);
    expect(readInvalidFields(await postSchedule({ recipients: [{ email }] }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'recipients.0.email',
    ]);
    const { recipients } = await expectSuccess(
      postSchedule({ recipients: [{ email: email.toUpperCase() }] }, otherDashboard),
    );
    expect(recipients).toEqual([{ email }]);
    const grant = { target_type: 'visualization', target_id: visualization._id, filter_policies: [] };
    await createShareContext(company, [grant], [email]);
    await expectSuccess(postSchedule({ recipients: [{ email }] }, visualization));
  });

  it('is refused with parameters that its context does not permit', async () => {
    const email = `bound@${company.slug}.test`;
    const regionalChart = await postVisualization(company.as, 'SELECT {{region}} AS region', {
      parameters: [makeParameter('region', 'select')],
    });
    const filters = [{ slug: 'region', label: 'Region', kind: 'select' }];
    const target = await postDashboard(company.as, [regionalChart], { filters });
    const policy = { filter_slug: 'region', filter_kind: 'select', mode: 'locked', allowed_values: ['south'] };
    await createShareContext(company, [makeDashboardGrant(target._id, [policy])], [email]);
    const refusedSchedule = await postSchedule({ recipients: [{ email }], parameters: { region: 'north' } }, target);
    expect(readInvalidFields(refusedSchedule)).toEqual([422, 'VALIDATION_ERROR', 'recipients.0.email']);
    const { _id } = await expectSuccess(postSchedule({ recipients: [{ email }] }, target));
    const changedSchedule = await company.as.put(`${SCHEDULES_PATH}/${_id}`, {
      json: { parameters: { region: 'south' } },
    });
    expect(readInvalidFields(changedSchedule)).toEqual([422, 'VALIDATION_ERROR', 'recipients.0.email']);
  });

  it('that is no longer a member does not keep users from changing the schedule', async () => {
    const email = `gone@${company.slug}.test`;
    const { id, members } = await createShareContext(company, [makeDashboardGrant(dashboard._id)], [email]);
    const { _id } = await expectSuccess(postSchedule({ recipients: [me, { email }] }));
    const [member] = members as [{ id: string }];
    await expectSuccess(company.as.delete(`/api/v1/share-contexts/${id}/members/${member.id}`));
    const putSchedule = (json: object) => company.as.put(`${SCHEDULES_PATH}/${_id}`, { json });
    expect((await putSchedule({ name: 'Another', recipients: [me, { email }] })).status).toBe(200);
    expect((await putSchedule({ recipients: [me] })).status).toBe(200);
    expect(readInvalidFields(await putSchedule({ recipients: [me, { email }] }))[2]).toBe('recipients.1.email');
  });
});
