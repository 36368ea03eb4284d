import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import type { ApiResponse } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { EMAIL, readNewestMail, whileMailIsDown, whileMailIsRefused } from '../support/mail.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, createRivalEnv, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { deliverMessage } from '../uploads/support.ts';
import { aDashboard, aVisualization, DASHBOARDS_PATH, VISUALIZATIONS_PATH } from '../visualizations/support.ts';
import {
  countMailsTo,
  createHeldQueue,
  createSchedule,
  deliverHeld,
  type HeldQueue,
  runNow,
  SCHEDULES_PATH,
} from './support.ts';

type Made = ApiResponse['body'];

let company: Company;
let one: Made;
let failing: Made;
beforeAll(async () => {
  company = await aProvisionedCompany();
  one = await aVisualization(company.as, 'SELECT 1 AS one');
  failing = await aVisualization(company.as, 'SELECT 1 / (1 - 1) AS one');
});
afterEach(resetClock);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const readSchedule = async ({ _id }: Made): Promise<Made> => must(company.as.get(`${SCHEDULES_PATH}/${_id}`));
const createReader = () =>
  aUser(company, {
    can: ['dashboards:get', 'visualizations:execute', 'dashboards:schedule', 'visualizations:schedule'],
  });
const selectRun = (id: string) =>
  selectRow<{ status: string; attempt: number; due_at: number }>(
    'select * from schedule_runs where schedule_id = ?',
    id,
  );

/** A run by hand whose message waits in a queue. */
async function createWaitingRun(schedule: Made): Promise<HeldQueue> {
  const queue = createHeldQueue();
  await must(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env: queue.env }));
  return queue;
}

describe('three failed runs of a schedule in a row', () => {
  it('pause the schedule, and notify its creator once', async () => {
    const maker = await createReader();
    const schedule = await createSchedule(maker.as, failing, {
      name: 'Broken',
      recipients: [{ user_id: company.owner.id }],
    });
    const before = countMailsTo(company.owner.email);
    expect(await runNow(company.as, schedule._id)).toMatchObject({
      status: 'active',
      last_run: { status: 'failed', sent: 0, failed: 1, problems: ['query_failed'] },
    });
    expect((await runNow(company.as, schedule._id)).status).toBe('active');
    expect(countMailsTo(maker.email)).toBe(0);
    expect(await runNow(company.as, schedule._id)).toMatchObject({ status: 'paused', next_run_at: null });
    expect([countMailsTo(maker.email), countMailsTo(company.owner.email)]).toEqual([1, before]);
    const { subject, text } = readNewestMail(maker.email);
    expect(subject).toMatch(/^“Broken” is paused: Company/);
    expect(text).toContain('failed three times in a row');
    expect(text).toContain('What it sends could not be computed.');
    // Somebody who looks for the reason is not told of it again.
    await runNow(company.as, schedule._id);
    expect(countMailsTo(maker.email)).toBe(1);
  });

  it('are counted from zero after a success, and after a change of the schedule', async () => {
    const maker = await createReader();
    const schedule = await createSchedule(maker.as, failing, { recipients: [{ user_id: maker.id }] });
    const target = (target_id: string) =>
      must(company.as.put(`${SCHEDULES_PATH}/${schedule._id}`, { json: { target_id } }));
    const sql = (text: string) =>
      must(company.as.put(`${VISUALIZATIONS_PATH}/${failing._id}`, { json: { sql: text } }));
    await runNow(company.as, schedule._id);
    await runNow(company.as, schedule._id);
    await sql('SELECT 1 AS one');
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({ status: 'done', sent: 1 });
    await sql('SELECT 1 / (1 - 1) AS one');
    expect((await runNow(company.as, schedule._id)).status).toBe('active');
    await target(failing._id);
    advanceClock(11 * MINUTE);
    await selectRow('delete from schedule_runs where schedule_id = ? returning id', schedule._id);
    resetClock();
    await runNow(company.as, schedule._id);
    expect((await runNow(company.as, schedule._id)).status).toBe('active');
    expect((await runNow(company.as, schedule._id)).status).toBe('paused');
    expect(countMailsTo(maker.email)).toBe(2);
  });

  it('are mailed to nobody if the creator was deactivated', async () => {
    const maker = await createReader();
    const schedule = await createSchedule(maker.as, failing, { recipients: [{ user_id: company.owner.id }] });
    await must(company.as.post(`/v1/users/${maker.id}/deactivate`));
    for (let run = 0; run < 3; run += 1) await runNow(company.as, schedule._id);
    expect((await readSchedule(schedule)).status).toBe('paused');
    expect(countMailsTo(maker.email)).toBe(0);
  });

  it('are mailed to the creator later if the mail service was down', async () => {
    const maker = await createReader();
    const schedule = await createSchedule(maker.as, failing, { recipients: [{ user_id: company.owner.id }] });
    for (let run = 0; run < 2; run += 1) await runNow(company.as, schedule._id);
    await whileMailIsDown(() => runNow(company.as, schedule._id));
    expect(countMailsTo(maker.email)).toBe(0);
    advanceClock(2 * MINUTE);
    await runScheduled(createHeldQueue().env);
    expect(countMailsTo(maker.email)).toBe(1);
  });
});

describe('a deletion before or during a run', () => {
  it('of the dashboard, between due time and run, stops the mail', async () => {
    const dashboard = await aDashboard(company.as, [one]);
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    await must(company.as.delete(`${DASHBOARDS_PATH}/${dashboard._id}`));
    await deliverHeld(queue);
    expect(countMailsTo(email)).toBe(0);
    expect(queue.messages).toEqual([]);
  });

  it('of the dashboard, once the run has begun, stops the mail', async () => {
    const dashboard = await aDashboard(company.as, [one]);
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, dashboard, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    await sendOvertaken(
      /^select .* from "dashboards"/,
      () => must(company.as.delete(`${DASHBOARDS_PATH}/${dashboard._id}`)),
      (env) => deliverMessage(message, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(0);
  });

  it('of the schedule, just before a mail goes out, stops the mail', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    await sendOvertaken(
      /^insert into "schedule_deliveries"/,
      () => must(company.as.delete(`${SCHEDULES_PATH}/${schedule._id}`)),
      (env) => deliverMessage(message, { ...queue.env, EMAIL, ...env }),
    );
    expect(countMailsTo(email)).toBe(0);
    expect(await selectRun(schedule._id)).toBeNull();
  });

  it('of the widget that a condition is about makes the run fail', async () => {
    const dashboard = await aDashboard(company.as, [one]);
    const condition = { visualization_id: one._id, column: 'one', op: 'gt', value: 0 };
    const schedule = await createSchedule(company.as, dashboard, {
      recipients: [{ user_id: company.owner.id }],
      condition,
    });
    await must(company.as.put(`${DASHBOARDS_PATH}/${dashboard._id}`, { json: { layout: [] } }));
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({
      status: 'failed',
      problems: ['condition_failed'],
    });
  });
});

describe('an empty dashboard', () => {
  it('is mailed although it has no visualizations', async () => {
    const schedule = await createSchedule(company.as, await aDashboard(company.as, []), {
      recipients: [{ user_id: company.owner.id }],
    });
    expect((await runNow(company.as, schedule._id)).last_run).toMatchObject({ status: 'done', sent: 1 });
  });
});

describe('a scheduled mail that the mail service', () => {
  it('rejects for now is sent later, and no other mail is sent again', async () => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, one, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    const queue = await createWaitingRun(schedule);
    let calls = 0;
    const busy = {
      send: (message: Parameters<SendEmail['send']>[0]) => {
        calls += 1;
        if (calls > 1) throw Object.assign(new Error('Too many.'), { code: 'E_RATE_LIMIT_EXCEEDED' });
        return EMAIL.send(message);
      },
    };
    await deliverHeld(queue, { EMAIL: busy });
    expect([
      calls,
      countMailsTo(first.email),
      countMailsTo(second.email),
      (await readSchedule(schedule)).last_run,
    ]).toEqual([2, 1, 0, null]);
    expect(queue.delays).toEqual([60]);
    advanceClock(MINUTE);
    await deliverHeld(queue);
    resetClock();
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 1]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({ status: 'done', sent: 2, failed: 0 });
  });

  it('keeps rejecting is given up after three attempts', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    const queue = await createWaitingRun(schedule);
    const tries = await whileMailIsRefused('E_DAILY_LIMIT_EXCEEDED', async () => {
      for (let at = 0; at < 5; at += 1) {
        advanceClock(at * 5 * MINUTE);
        await deliverHeld(queue);
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
    const schedule = await createSchedule(company.as, one, {
      recipients: [{ user_id: id }, { user_id: company.owner.id }],
    });
    const suppressed = {
      send: (message: Parameters<SendEmail['send']>[0]) => {
        if ('to' in message && message.to !== company.owner.email)
          throw Object.assign(new Error('No.'), { code: 'E_RECIPIENT_SUPPRESSED' });
        return EMAIL.send(message);
      },
    };
    const { last_run } = await runNow(company.as, schedule._id, { EMAIL: suppressed });
    // One recipient's mailbox is not the schedule's failure.
    expect(last_run).toMatchObject({ status: 'done', sent: 1, failed: 1, problems: ['mail_refused'] });
  });

  it('gives no answer about is not sent again, since it may have been delivered', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    const { last_run } = (await whileMailIsDown(() => runNow(company.as, schedule._id))) as Made;
    expect(last_run).toMatchObject({ status: 'failed', failed: 1, problems: ['unconfirmed'] });
    expect(countMailsTo(email)).toBe(0);
  });
});

describe('an interrupted attempt of a scheduled run', () => {
  const SENT = /^update "schedule_deliveries"/;

  it('between sending a mail and recording it sends no mail twice', async () => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, one, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    const queue = await createWaitingRun(schedule);
    await deliverHeld(queue, createFailingEnv(SENT));
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 0]);
    advanceClock(MINUTE);
    await deliverHeld(queue);
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
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    await createWaitingRun(schedule);
    const queue = createHeldQueue();
    const own = () => queue.messages.filter(({ companyId }) => companyId === company.id).length;
    await runScheduled(queue.env);
    expect(own()).toBe(0);
    advanceClock(3 * MINUTE);
    await runScheduled(queue.env);
    expect(own()).toBe(1);
    // While somebody is at one of the company's runs, that is not needed.
    await selectRow(
      `update schedule_runs set status = 'running', due_at = ? where schedule_id = ? returning id`,
      Date.now() + HOUR,
      schedule._id,
    );
    const other = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    resetClock();
    await createWaitingRun(other);
    advanceClock(6 * MINUTE);
    await runScheduled(queue.env);
    expect(own()).toBe(1);
    await deliverHeld(queue);
    expect(countMailsTo(email)).toBe(1);
    advanceClock(2 * HOUR);
    await runScheduled(queue.env);
    await deliverHeld(queue);
    expect(countMailsTo(email)).toBe(2);
  });

  it('that is the third in a row makes the run fail', async () => {
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: company.owner.id }] });
    const queue = await createWaitingRun(schedule);
    const away = createFailingEnv(/^update "schedule_runs" set "due_at" = \?/);
    for (let at = 0; at < 3; at += 1) {
      advanceClock(at * 5 * MINUTE);
      await deliverHeld(queue, away);
    }
    resetClock();
    expect((await readSchedule(schedule)).last_run).toMatchObject({ status: 'failed', problems: ['unavailable'] });
  });

  /** Another try does the whole run just before the first one does something. */
  const overtakenAt = async (pattern: RegExp, schedule: Made, changed: Record<string, unknown> = {}) => {
    const queue = await createWaitingRun(schedule);
    const [message] = queue.messages as [JobMessage];
    let left: Awaited<ReturnType<typeof selectRun>> = null;
    const { env, hasRun } = createRivalEnv(pattern, async () => {
      await selectRow('update schedule_runs set due_at = 0 where schedule_id = ? returning id', schedule._id);
      await deliverMessage(message, { ...queue.env, EMAIL });
      left = await selectRun(schedule._id);
    });
    await deliverMessage(message, { ...queue.env, EMAIL, ...changed, ...env });
    expect([hasRun(), left]).toEqual([true, expect.objectContaining({ status: 'ended', attempt: 2 })]);
    expect(await selectRun(schedule._id)).toEqual(left);
  };

  it.each([
    ['stopped before it computes', /^update "schedule_runs" set "due_at"/],
    ['stopped before it sends', /^insert into "schedule_deliveries"/],
  ])('that resumes after another attempt sends nothing more: %s', async (_when, pattern) => {
    const [first, second] = [await createReader(), await createReader()];
    const schedule = await createSchedule(company.as, one, {
      recipients: [{ user_id: first.id }, { user_id: second.id }],
    });
    await overtakenAt(pattern, schedule);
    expect([countMailsTo(first.email), countMailsTo(second.email)]).toEqual([1, 1]);
    expect((await readSchedule(schedule)).last_run).toMatchObject({ sent: 2 });
  });

  it('that resumes and was to be tried later does not reopen the finished run', async () => {
    const { id, email } = await createReader();
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: id }] });
    const busy = { send: () => Promise.reject(Object.assign(new Error('Busy.'), { code: 'E_RATE_LIMIT_EXCEEDED' })) };
    await overtakenAt(/^update "schedule_runs" set "status" = \?, "due_at"/, schedule, { EMAIL: busy });
    expect(countMailsTo(email)).toBe(1);
  });

  it('that resumes at its end does not count the failure twice', async () => {
    const schedule = await createSchedule(company.as, failing, { recipients: [{ user_id: company.owner.id }] });
    await overtakenAt(/^update "schedule_runs" set "status" = \? where/, schedule);
    expect(await selectRow('select failures from schedules where id = ?', schedule._id)).toEqual({ failures: 1 });
  });
});

describe('the record of a scheduled run', () => {
  it('is kept for a week', async () => {
    const schedule = await createSchedule(company.as, one, {
      recipients: [{ user_id: company.owner.id }],
      status: 'paused',
    });
    const { last_run: sent } = await runNow(company.as, schedule._id);
    await createWaitingRun(schedule);
    const counts = async () => [
      await countRows('schedule_runs where schedule_id = ?', schedule._id),
      await countRows('schedule_deliveries where run_id = ?', sent.id),
    ];
    expect(await counts()).toEqual([2, 1]);
    advanceClock(6 * 24 * HOUR);
    await runScheduled(createHeldQueue().env);
    expect(await counts()).toEqual([2, 1]);
    advanceClock(8 * 24 * HOUR);
    await runScheduled(createHeldQueue().env);
    // Nobody has done the other one.
    expect(await counts()).toEqual([1, 0]);
    resetClock();
    expect((await readSchedule(schedule)).last_run).toMatchObject({ sent: 1 });
  });
});

describe('a manual run of a schedule', () => {
  it('is allowed five times in ten minutes', async () => {
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: company.owner.id }] });
    const { env } = createHeldQueue();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const run = (sending = {}) => company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { env, ...sending });
    for (let at = 0; at < 5; at += 1) {
      expect((await run()).status).toBe(202);
      advanceClock(at + 1);
    }
    const refused = await run({ headers });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '120']);
    expect(refused.body).toEqual({
      error: 'RateLimitExceeded',
      message:
        'A schedule can be run at most 5 times in ten minutes, besides its scheduled runs. Try again in 120 seconds (2 minutes).',
      details: { field: null, reason: 'schedule.too_many_runs' },
    });
    await selectRow(
      'update schedule_runs set occurrence = occurrence - ? where schedule_id = ? returning id',
      10 * MINUTE,
      schedule._id,
    );
    // A refusal of this kind is not kept under its key.
    expect((await run({ headers })).status).toBe(202);
  });

  it('is started once for each idempotency key', async () => {
    const schedule = await createSchedule(company.as, one, { recipients: [{ user_id: company.owner.id }] });
    const queue = createHeldQueue();
    const headers = { 'idempotency-key': crypto.randomUUID() };
    const run = () => must(company.as.post(`${SCHEDULES_PATH}/${schedule._id}/run`, { headers, env: queue.env }));
    expect(await run()).toEqual(await run());
    expect(queue.messages).toHaveLength(1);
  });
});
