import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { ApiResponse } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled, stopClockAt } from '../support/clock.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { EMAIL, readNewestMail, runWhileMailIsDown, runWhileMailIsRefused } from '../support/mail.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, createRacingEnv, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { createAllowedAccount, createTokenCaller, expectSuccess, makeAllow } from '../support/signed.ts';
import { deliverMessage } from '../uploads/support.ts';
import { DASHBOARDS_PATH, postDashboard, postVisualization, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import {
  countMailsTo,
  createSchedule,
  createTestQueue,
  deliverTestMessages,
  runScheduleNow,
  SCHEDULES_PATH,
  type TestQueue,
} from './support.ts';

type CreatedResource = ApiResponse['body'];

const company = await createProvisionedCompany();
const oneVisualization = await postVisualization(company.as, 'SELECT 1 AS one');
const failingVisualization = await postVisualization(company.as, 'SELECT 1 / (1 - 1) AS one');

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const readSchedule = async ({ _id }: CreatedResource): Promise<CreatedResource> =>
  expectSuccess(company.as.get(`${SCHEDULES_PATH}/${_id}`));
const createReader = () =>
  createAllowedUser(company, {
    can: ['dashboards:get', 'visualizations:execute', 'dashboards:schedule', 'visualizations:schedule'],
  });
const selectRun = (id: string) =>
  selectRow<{ status: string; attempt: number; due_at: number }>(
    'select * from schedule_runs where schedule_id = ?',
    id,
  );

/** Starts a manual run whose message stays in a held queue. */
async function createWaitingRun(schedule: CreatedResource): Promise<TestQueue> {
  const queue = createTestQueue();
  await expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
  return queue;
}

describe('three failed runs of a schedule in a row', () => {
  it('pause the schedule, and notify its creator once', async () => {
    const scheduleCreator = await createReader();
    const schedule = await createSchedule(scheduleCreator.as, failingVisualization, {
      name: 'Broken',
      recipients: [{ user_id: company.owner.id }],
    });
    const mailCountBefore = countMailsTo(company.owner.email);
    expect(await runScheduleNow(company.as, schedule._id)).toMatchObject({
      status: 'active',
      last_run: { status: 'failed', sent: 0, failed: 1, problems: ['query_failed'] },
    });
    expect((await runScheduleNow(company.as, schedule._id)).status).toBe('active');
    expect(countMailsTo(scheduleCreator.email)).toBe(0);
    expect(await runScheduleNow(company.as, schedule._id)).toMatchObject({ status: 'paused', next_run_at: null });
    expect([countMailsTo(scheduleCreator.email), countMailsTo(company.owner.email)]).toEqual([1, mailCountBefore]);
    const { subject, text } = readNewestMail(scheduleCreator.email);
    expect(subject).toMatch(/^“Broken” is paused: Company/);
    expect(text).toContain('failed three times in a row');
    expect(text).toContain('What it sends could not be computed.');
    // Somebody who looks for the reason is not told of it again.
    await runScheduleNow(company.as, schedule._id);
    expect(countMailsTo(scheduleCreator.email)).toBe(1);
  });

  it.each([
    ['', 0],
    [', and for the fourth time', 3],
  ])('stay the last result when a run that was due before the pause comes too late%s', async (_often, attempts) => {
    const schedule = await createSchedule(company.as, failingVisualization, {
      recipients: [{ user_id: company.owner.id }],
      cron: '*/30 * * * *',
    });
    const dueAt = Date.parse(schedule.next_run_at);
    stopClockAt(dueAt);
    const queue = createTestQueue();
    await runScheduled(queue.env);
    resetClock();
    await runSql('update schedule_runs set attempt = ? where schedule_id = ?', attempts, schedule._id);
    for (let run = 0; run < 3; run += 1) await runScheduleNow(company.as, schedule._id);
    const pausedSchedule = await readSchedule(schedule);
    expect(pausedSchedule).toMatchObject({ status: 'paused', last_run: { status: 'failed', kind: 'manual' } });
    stopClockAt(dueAt + 1);
    await deliverTestMessages(queue);
    resetClock();
    expect(
      await selectRow("select id from schedule_runs where schedule_id = ? and status <> 'ended'", schedule._id),
    ).toBeNull();
    expect(await readSchedule(schedule)).toEqual(pausedSchedule);
    expect(await selectRow('select failures from schedules where id = ?', schedule._id)).toEqual({ failures: 3 });
  });

  it('are counted from zero after a success, and after a change of the schedule', async () => {
    const scheduleCreator = await createReader();
    const schedule = await createSchedule(scheduleCreator.as, failingVisualization, {
      recipients: [{ user_id: scheduleCreator.id }],
    });
    const makeTarget = (target_id: string) =>
      expectSuccess(company.as.put(`${SCHEDULES_PATH}/${schedule._id}`, { json: { target_id } }));
    const putSql = (text: string) =>
      expectSuccess(company.as.put(`${VISUALIZATIONS_PATH}/${failingVisualization._id}`, { json: { sql: text } }));
    await runScheduleNow(company.as, schedule._id);
    await runScheduleNow(company.as, schedule._id);
    await putSql('SELECT 1 AS one');
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ status: 'done', sent: 1 });
    await putSql('SELECT 1 / (1 - 1) AS one');
    expect((await runScheduleNow(company.as, schedule._id)).status).toBe('active');
    await makeTarget(failingVisualization._id);
    advanceClock(11 * MINUTE_MS);
    await selectRow('delete from schedule_runs where schedule_id = ? returning id', schedule._id);
    resetClock();
    await runScheduleNow(company.as, schedule._id);
    expect((await runScheduleNow(company.as, schedule._id)).status).toBe('active');
    expect((await runScheduleNow(company.as, schedule._id)).status).toBe('paused');
    expect(countMailsTo(scheduleCreator.email)).toBe(2);
  });

  it.each([
    ['was deactivated', true],
    ['is a service account', false],
  ])('are mailed to the administrators if the creator %s', async (_what, isUser) => {
    const serviceAccount = await createAllowedAccount(company, makeAllow('*'));
    const user = await createReader();
    const administrator = await createAllowedUser(company, { can: ['*'] });
    const creator = isUser ? user.as : await createTokenCaller(serviceAccount);
    const schedule = await createSchedule(creator, failingVisualization, {
      name: 'Orphan',
      recipients: [{ user_id: company.owner.id }],
    });
    await expectSuccess(company.as.post(`/v1/users/${user.id}/deactivate`));
    const mailCountBefore = countMailsTo(company.owner.email);
    for (let run = 0; run < 3; run += 1) await runScheduleNow(company.as, schedule._id);
    expect((await readSchedule(schedule)).status).toBe('paused');
    expect([
      countMailsTo(user.email),
      countMailsTo(company.owner.email) - mailCountBefore,
      countMailsTo(administrator.email),
    ]).toEqual([0, 1, 1]);
    const { subject, text } = readNewestMail(administrator.email);
    expect(subject).toMatch(/^“Orphan” is paused: Company/);
    expect(text).not.toContain('you have scheduled');
    expect(text).toContain('because you are the owner or an administrator');
  });

  it('are mailed to the creator later if the mail service was down', async () => {
    const scheduleCreator = await createReader();
    const schedule = await createSchedule(scheduleCreator.as, failingVisualization, {
      recipients: [{ user_id: company.owner.id }],
    });
    for (let run = 0; run < 2; run += 1) await runScheduleNow(company.as, schedule._id);
    await runWhileMailIsDown(() => runScheduleNow(company.as, schedule._id));
    expect(countMailsTo(scheduleCreator.email)).toBe(0);
    advanceClock(2 * MINUTE_MS);
    await runScheduled(createTestQueue().env);
    expect(countMailsTo(scheduleCreator.email)).toBe(1);
  });
});

describe('a deletion before or during a run', () => {
  it('of the dashboard, between due time and run, stops the mail', async () => {
    const dashboard = await postDashboard(company.as, [oneVisualization]);
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    await expectSuccess(company.as.delete(`${DASHBOARDS_PATH}/${dashboard._id}`));
    await deliverTestMessages(queue);
    expect(countMailsTo(email)).toBe(0);
    expect(queue.messages).toEqual([]);
  });

  it('of the dashboard, once the run has begun, stops the mail', async () => {
    const dashboard = await postDashboard(company.as, [oneVisualization]);
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    await sendDuringRace(
      /^select .* from "dashboards"/,
      () => expectSuccess(company.as.delete(`${DASHBOARDS_PATH}/${dashboard._id}`)),
      (env) => deliverMessage(message, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(0);
  });

  it('of the schedule, just before a mail goes out, stops the mail', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    await sendDuringRace(
      /^insert into "schedule_deliveries"/,
      () => expectSuccess(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`)),
      (env) => deliverMessage(message, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(0);
    expect(await selectRun(schedule._id)).toBeNull();
  });

  it('of the widget whose values a condition checks makes the run fail', async () => {
    const dashboard = await postDashboard(company.as, [oneVisualization]);
    const condition = { visualization_id: oneVisualization._id, column: 'one', op: 'gt', value: 0 };
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [{ user_id: company.owner.id }],
      condition,
    });
    await expectSuccess(company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, { json: { layout: [] } }));
    expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({
      status: 'failed',
      problems: ['condition_failed'],
    });
  });
});

it('an empty dashboard is mailed although it has no visualizations', async () => {
  const schedule = await createSchedule(company.as, await postDashboard(company.as, []), {
    recipients: [{ user_id: company.owner.id }],
  });
  expect((await runScheduleNow(company.as, schedule._id)).last_run).toMatchObject({ status: 'done', sent: 1 });
});

describe('a scheduled mail that the mail service', () => {
  it('rejects temporarily is sent later, and no other mail is sent again', async () => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    const queue = await createWaitingRun(schedule);
    let callCount = 0;
    const busyMailService = {
      send: (message: Parameters<SendEmail['send']>[0]) => {
        callCount += 1;
        if (callCount > 1) throw Object.assign(new Error('Too many.'), { code: 'E_RATE_LIMIT_EXCEEDED' });
        return EMAIL.send(message);
      },
    };
    await deliverTestMessages(queue, { EMAIL: busyMailService });
    expect([
      callCount,
      countMailsTo(first.email),
      countMailsTo(second.email),
      (await readSchedule(schedule)).last_run,
    ]).toEqual([2, 1, 0, null]);
    expect(queue.delays).toEqual([60]);
    advanceClock(MINUTE_MS);
    await deliverTestMessages(queue);
    resetClock();
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 1]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({ status: 'done', sent: 2, failed: 0 });
  });

  it('keeps rejecting is given up after three attempts', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const tries = await runWhileMailIsRefused('E_DAILY_LIMIT_EXCEEDED', async () => {
      for (let at = 0; at < 5; at += 1) {
        advanceClock(at * 5 * MINUTE_MS);
        await deliverTestMessages(queue);
      }
    });
    resetClock();
    expect([tries, countMailsTo(email)]).toEqual([3, 0]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({
      status: 'failed',
      failed: 1,
      problems: ['mail_refused'],
    });
  });

  it('rejects permanently is not retried', async () => {
    const { id } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: id }, { user_id: company.owner.id }],
    });
    const suppressingMailService = {
      send: (message: Parameters<SendEmail['send']>[0]) => {
        if ('to' in message && message.to !== company.owner.email)
          throw Object.assign(new Error('No.'), { code: 'E_RECIPIENT_SUPPRESSED' });
        return EMAIL.send(message);
      },
    };
    const { last_run } = await runScheduleNow(company.as, schedule._id, { EMAIL: suppressingMailService });
    // One recipient's mailbox is not the schedule's failure.
    expect(last_run).toMatchObject({ status: 'done', sent: 1, failed: 1, problems: ['mail_refused'] });
  });

  it('gives no answer about is not sent again, since it may have been delivered', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    const { last_run } = (await runWhileMailIsDown(() => runScheduleNow(company.as, schedule._id))) as CreatedResource;
    expect(last_run).toMatchObject({ status: 'failed', failed: 1, problems: ['unconfirmed'] });
    expect(countMailsTo(email)).toBe(0);
  });
});

describe('an interrupted attempt of a scheduled run', () => {
  const SENT_UPDATE_PATTERN = /^update "schedule_deliveries"/;

  it('between sending a mail and recording it sends no mail twice', async () => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    const queue = await createWaitingRun(schedule);
    await deliverTestMessages(queue, createFailingEnv(SENT_UPDATE_PATTERN));
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 0]);
    advanceClock(MINUTE_MS);
    await deliverTestMessages(queue);
    resetClock();
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 1]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({
      status: 'done',
      sent: 1,
      failed: 1,
      problems: ['unconfirmed'],
    });
  });

  it('is retried by the cron trigger once its lease has expired', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    await createWaitingRun(schedule);
    const queue = createTestQueue();
    const countOwnMessages = () => queue.messages.filter(({ companyId }) => companyId === company.id).length;
    await runScheduled(queue.env);
    expect(countOwnMessages()).toBe(0);
    advanceClock(3 * MINUTE_MS);
    await runScheduled(queue.env);
    expect(countOwnMessages()).toBe(1);
    // While somebody is at one of the company's runs, that is not needed.
    await selectRow(
      `update schedule_runs set status = 'running', due_at = ? where schedule_id = ? returning id`,
      Date.now() + HOUR_MS,
      schedule._id,
    );
    const otherSchedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    resetClock();
    await createWaitingRun(otherSchedule);
    advanceClock(6 * MINUTE_MS);
    await runScheduled(queue.env);
    expect(countOwnMessages()).toBe(1);
    await deliverTestMessages(queue);
    expect(countMailsTo(email)).toBe(1);
    advanceClock(2 * HOUR_MS);
    await runScheduled(queue.env);
    await deliverTestMessages(queue);
    expect(countMailsTo(email)).toBe(2);
  });

  it('that is the third in a row makes the run fail', async () => {
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: company.owner.id }],
    });
    const queue = await createWaitingRun(schedule);
    const failingEnv = createFailingEnv(/^update "schedule_runs" set "due_at" = \?/);
    for (let at = 0; at < 3; at += 1) {
      advanceClock(at * 5 * MINUTE_MS);
      await deliverTestMessages(queue, failingEnv);
    }
    resetClock();
    expect((await readSchedule(schedule)).last_run).toMatchObject({ status: 'failed', problems: ['unavailable'] });
  });

  /** Completes the whole run by another attempt just before the first attempt writes to the database. */
  const runDuringAttempt = async (
    pattern: RegExp,
    schedule: CreatedResource,
    changedEnv: Record<string, unknown> = {},
  ) => {
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    let remainingRun: Awaited<ReturnType<typeof selectRun>> = null;
    const { env, hasRun } = createRacingEnv(pattern, async () => {
      await selectRow('update schedule_runs set due_at = 0 where schedule_id = ? returning id', schedule._id);
      await deliverMessage(message, { ...queue.env, EMAIL });
      remainingRun = await selectRun(schedule._id);
    });
    await deliverMessage(message, { ...queue.env, EMAIL, ...changedEnv, ...env });
    expect([hasRun(), remainingRun]).toEqual([true, expect.objectContaining({ status: 'ended', attempt: 2 })]);
    expect(await selectRun(schedule._id)).toEqual(remainingRun);
  };

  it.each([
    ['stopped before it computes', /^update "schedule_runs" set "due_at"/],
    ['stopped before it sends', /^insert into "schedule_deliveries"/],
  ])('that resumes after another attempt sends nothing more: %s', async (_when, pattern) => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    await runDuringAttempt(pattern, schedule);
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 1]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({ sent: 2 });
  });

  it('that resumes and had failed temporarily does not reopen the finished run', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, oneVisualization, { recipients: [{ user_id: id }] });
    const busyMailService = {
      send: () => Promise.reject(Object.assign(new Error('Busy.'), { code: 'E_RATE_LIMIT_EXCEEDED' })),
    };
    await runDuringAttempt(/^update "schedule_runs" set "status" = \?, "due_at"/, schedule, { EMAIL: busyMailService });
    expect(countMailsTo(email)).toBe(1);
  });

  it('that resumes at its end does not count the failure twice', async () => {
    const schedule = await createSchedule(company.as, failingVisualization, {
      recipients: [{ user_id: company.owner.id }],
    });
    await runDuringAttempt(/^update "schedule_runs" set "status" = \? where/, schedule);
    expect(await selectRow('select failures from schedules where id = ?', schedule._id)).toEqual({ failures: 1 });
  });
});

it('the record of a scheduled run is kept for a week', async () => {
  const schedule = await createSchedule(company.as, oneVisualization, {
    recipients: [{ user_id: company.owner.id }],
    status: 'paused',
  });
  const { last_run: sentRun } = await runScheduleNow(company.as, schedule._id);
  await createWaitingRun(schedule);
  const countRecords = async () => [
    await countRows('schedule_runs where schedule_id = ?', schedule._id),
    await countRows('schedule_deliveries where run_id = ?', sentRun.id),
  ];
  expect(await countRecords()).toEqual([2, 1]);
  advanceClock(6 * 24 * HOUR_MS);
  await runScheduled(createTestQueue().env);
  expect(await countRecords()).toEqual([2, 1]);
  advanceClock(8 * 24 * HOUR_MS);
  await runScheduled(createTestQueue().env);
  // Nobody has done the other one.
  expect(await countRecords()).toEqual([1, 0]);
  resetClock();
  expect((await readSchedule(schedule)).last_run).toMatchObject({ sent: 1 });
});

describe('a manual run of a schedule', () => {
  it('is allowed five times in ten minutes', async () => {
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: company.owner.id }],
    });
    const { env } = createTestQueue();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const runManually = (requestOptions = {}) =>
      company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env, ...requestOptions });
    for (let at = 0; at < 5; at += 1) {
      expect((await runManually()).status).toBe(202);
      advanceClock(at + 1);
    }
    const refusedRun = await runManually({ headers });
    expect([refusedRun.status, refusedRun.headers.get('retry-after')]).toEqual([429, '120']);
    expect(refusedRun.body).toEqual({
      error: 'RateLimitExceeded',
      message:
        'A schedule can be run at most 5 times in ten minutes, besides its scheduled runs. Try again in 120 seconds (2 minutes).',
      details: { field: null, reason: 'schedule.too_many_runs' },
    });
    await selectRow(
      'update schedule_runs set occurrence = occurrence - ? where schedule_id = ? returning id',
      10 * MINUTE_MS,
      schedule._id,
    );
    // A refusal of this kind is not kept under its key.
    expect((await runManually({ headers })).status).toBe(202);
  });

  it('is started once for each idempotency key', async () => {
    const schedule = await createSchedule(company.as, oneVisualization, {
      recipients: [{ user_id: company.owner.id }],
    });
    const queue = createTestQueue();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const runManually = () =>
      expectSuccess(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { headers, env: queue.env }));
    expect(await runManually()).toEqual(await runManually());
    expect(queue.messages).toHaveLength(1);
  });
});
