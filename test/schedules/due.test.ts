import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openContext } from '../../src/context.ts';
import { createDueRuns } from '../../src/modules/schedules/jobs.ts';
import { stopClockAt } from '../support/clock.ts';
import { createCountingD1 } from '../support/counting-d1.ts';
import { countRows, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { createTestQueue, type TestQueue } from './support.ts';

/** The time at which the schedules of these tests are due, and no other schedules. */
const DUE_AT = Date.UTC(2031, 0, 6, 8);
const toHexId = (start: string, n: number) => start + n.toString(16).padStart(24 - start.length, '0');
const makeCompanyId = (n: number) => toHexId('c0', n);

/** Stores schedules directly in the database: the given number of each company, all due at once. */
async function storeSchedules(start: string, countsPerCompany: number[], cron = '0 8 * * *'): Promise<void> {
  const list = countsPerCompany.flatMap((count, n) => Array.from({ length: count }, () => makeCompanyId(n)));
  for (let at = 0; at < list.length; at += 2000) {
    const batch = list.slice(at, at + 2000).map((company, n) => ({ id: toHexId(start, at + n), company }));
    await runSql(
      `insert into schedules (id, company_id, name, target_type, target_id, parameters, cron, time_zone, format, status, next_run_at, failures, api_url, version, created_by_user_id, created_at, updated_at)
       select value ->> 'id', value ->> 'company', 'Due', 'dashboard', 'none', '{}', ?, 'America/Sao_Paulo', 'summary', 'active', ?, 0, '', 1, 'none', 0, 0 from json_each(?)`,
      cron,
      DUE_AT,
      JSON.stringify(batch),
    );
  }
}

/** Enqueues due schedules as the scheduled run does, and counts its database calls. */
async function enqueueDueSchedules(
  changedEnv: Record<string, unknown> = {},
): Promise<{ queue: TestQueue; callCount: number }> {
  const queue = createTestQueue();
  const countingD1 = createCountingD1();
  const origin = {
    env: { ...env, ...queue.env, ...countingD1.env, ...changedEnv } as never,
    waitUntil: () => {},
    correlationId: 'due',
    baseUrl: '',
    ip: null,
  };
  const { context, close } = openContext(origin, { kind: 'anonymous' });
  await createDueRuns(context);
  await close();
  return { queue, callCount: countingD1.countCalls() };
}

const clearSchedules = () => runSql('delete from schedules');
beforeAll(clearSchedules);
afterEach(async () => {
  await clearSchedules();
});

const listCompanies = ({ messages }: TestQueue): string[] => messages.map(({ companyId: id }) => id);

describe('ten thousand schedules that are due in one minute', () => {
  it('are enqueued in a few transactions, each occurrence once', async () => {
    const COMPANY_COUNT = 1000;
    await storeSchedules('a0', Array<number>(COMPANY_COUNT).fill(10));
    stopClockAt(DUE_AT + 1000);
    const { queue, callCount } = await enqueueDueSchedules();
    expect(await countRows(`schedule_runs where status = 'queued' and occurrence = ?`, DUE_AT)).toBe(10_000);
    expect(await countRows('schedule_runs')).toBe(10_000);
    // One read and one unit of work for a thousand, and a last look.
    expect(callCount).toBe(21);
    // Each company has its runs done by four messages side by side.
    const messagesByCompany = Map.groupBy(listCompanies(queue), (id) => id);
    expect([messagesByCompany.size, new Set([...messagesByCompany.values()].map(({ length }) => length))]).toEqual([
      COMPANY_COUNT,
      new Set([4]),
    ]);
    // The queue's 250 consumers, a run of a second each: the last one begins well within the minute.
    expect(findLastStart(queue, new Map([...messagesByCompany.keys()].map((id) => [id, 10])), 250, 1)).toBeLessThan(60);

    const repeatedRun = await enqueueDueSchedules();
    expect([repeatedRun.queue.messages, repeatedRun.callCount]).toEqual([[], 1]);
    expect(await countRows('schedule_runs')).toBe(10_000);
    const next = await selectRow<{ at: number; kinds: number }>(
      'select min(next_run_at) as at, count(distinct next_run_at) as kinds from schedules',
    );
    // At eight in the morning there.
    expect(next).toEqual({ at: Date.UTC(2031, 0, 6, 11), kinds: 1 });
  });

  it('of one company do not delay the schedules of other companies', async () => {
    await storeSchedules('a0', [9_000, ...Array<number>(1000).fill(1)]);
    stopClockAt(DUE_AT + 1000);
    const { queue, callCount } = await enqueueDueSchedules();
    expect(callCount).toBe(21);
    expect(await countRows('schedule_runs')).toBe(10_000);
    const order = listCompanies(queue);
    expect(order.filter((id) => id === makeCompanyId(0))).toHaveLength(4);
    expect(new Set(order).size).toBe(1001);
    // Its further ones come after everybody's first.
    const positions = order.flatMap((id, at) => (id === makeCompanyId(0) ? [at] : []));
    expect(positions.slice(1).every((at) => at >= 1000)).toBe(true);
    const runs = new Map([...new Set(order)].map((id) => [id, id === makeCompanyId(0) ? 9_000 : 1]));
    expect(findLastStart(queue, runs, 250, 1, makeCompanyId(0))).toBeLessThan(10);
  });
});

/**
 * Returns when the last run begins, in seconds: consumers take messages in order, and the runs of one company follow each other.
 */
function findLastStart(
  { messages }: TestQueue,
  runs: Map<string, number>,
  consumerCount: number,
  seconds: number,
  exceptedId?: string,
): number {
  const remainingRuns = new Map(runs);
  const waitingIds = messages.map(({ companyId: id }) => id);
  const freeAt = Array<number>(consumerCount).fill(0);
  let last = 0;
  for (let id = waitingIds.shift(); id !== undefined; id = waitingIds.shift()) {
    const consumer = freeAt.indexOf(Math.min(...freeAt));
    const count = Math.min(25, remainingRuns.get(id) ?? 0);
    remainingRuns.set(id, (remainingRuns.get(id) ?? 0) - count);
    const beganAt = freeAt[consumer] as number;
    if (count > 0 && id !== exceptedId) last = Math.max(last, beganAt + (count - 1) * seconds);
    freeAt[consumer] = beganAt + count * seconds;
    if ((remainingRuns.get(id) ?? 0) > 0) waitingIds.push(id);
  }
  return last;
}

describe('an occurrence of a schedule', () => {
  it('is enqueued once, by whichever of two concurrent cron runs', async () => {
    await storeSchedules('a1', [3, 2]);
    stopClockAt(DUE_AT);
    const outcome = await sendDuringRace(
      /^insert into "schedule_runs"/,
      () => enqueueDueSchedules(),
      (changedEnv) => enqueueDueSchedules(changedEnv),
    );
    expect(outcome.queue.messages).toEqual([]);
    expect(await countRows('schedule_runs')).toBe(5);
    // By a clock that is behind, a change of the schedule makes it come again.
    await runSql('update schedules set next_run_at = ?', DUE_AT);
    expect((await enqueueDueSchedules()).queue.messages).toEqual([]);
    expect(await countRows('schedule_runs')).toBe(5);
  });

  it('is not enqueued if its schedule is paused meanwhile', async () => {
    await storeSchedules('a2', [2]);
    stopClockAt(DUE_AT);
    await sendDuringRace(
      /^insert into "schedule_runs"/,
      () => runSql(`update schedules set status = 'paused', next_run_at = null where id = ?`, toHexId('a2', 0)),
      (changedEnv) => enqueueDueSchedules(changedEnv),
    );
    expect(await countRows('schedule_runs')).toBe(1);
    expect(await selectRow('select next_run_at from schedules where id = ?', toHexId('a2', 0))).toEqual({
      next_run_at: null,
    });
  });

  it('comes at least 15 minutes after the previous one, also when the clock changes', async () => {
    // 02:10 is left out, so that it comes at 03:00; 03:10 would be ten minutes later.
    const gapTime = Date.UTC(2031, 2, 9, 7);
    await storeSchedules('a3', [1], '10 2,3 * * *');
    await runSql(`update schedules set next_run_at = ?, time_zone = 'America/New_York'`, gapTime);
    stopClockAt(gapTime);
    await enqueueDueSchedules();
    const next = (await selectRow<{ next_run_at: number }>('select next_run_at from schedules'))?.next_run_at as number;
    expect(next - gapTime).toBeGreaterThanOrEqual(15 * 60_000);
  });

  it('is enqueued although another due schedule has no valid cron expression', async () => {
    await storeSchedules('a4', [1], 'no cron');
    await storeSchedules('a5', [1]);
    stopClockAt(DUE_AT);
    const { queue } = await enqueueDueSchedules();
    expect(queue.messages).toHaveLength(2);
    expect(await selectRow('select next_run_at from schedules where id = ?', toHexId('a4', 0))).toEqual({
      next_run_at: null,
    });
  });
});
