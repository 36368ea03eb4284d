import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createQuestion, createSumMetric } from '../knowledge/questions/support.ts';
import { KNOWLEDGE_PATH, makeName } from '../knowledge/support.ts';
import { createTableClient, makeColumn } from '../managed-tables/support.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, runSql, sendDuringRace } from '../support/race.ts';

const company = await createProvisionedCompany();
const ownerCaller = company.as;

/** Creates a queue that refuses messages until `comesBack` is called. */
function createUnavailableQueue() {
  const sentMessages: JobMessage[] = [];
  let isUnavailable = true;
  const send = async (message: JobMessage) => {
    if (isUnavailable) throw new Error('The queue is away.');
    sentMessages.push(message);
  };
  const sendBatch = async (batch: { body: JobMessage }[]) => {
    for (const { body } of batch) await send(body);
  };
  return {
    sent: sentMessages,
    /** Returns the sent messages of this company; a scheduled run sends the messages of other companies, too. */
    mine: () => sentMessages.filter(({ companyId }) => companyId === company.id),
    env: { RECHECKS: { send, sendBatch } } as unknown as Record<string, string>,
    comesBack: () => {
      isUnavailable = false;
    },
  };
}

const countWaitingMessages = () => countRows('outbox where company_id = ?', company.id);

describe('a re-check of knowledge whose message cannot be sent', () => {
  it('is sent by the scheduled run, after a change of an item', async () => {
    const { item } = await createQuestion(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const queue = createUnavailableQueue();
    const changedItem = await ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, {
      json: { status: 'draft' },
      env: queue.env,
    });
    expect([changedItem.status, await countWaitingMessages()]).toEqual([200, 1]);
    await runScheduled(queue.env);
    expect([await countWaitingMessages(), queue.sent]).toEqual([1, []]);
    queue.comesBack();
    await runScheduled(queue.env);
    expect([await countWaitingMessages(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck_questions', companyId: company.id, after: '' })],
    ]);
  });

  it('is sent by the scheduled run, after a change of a table', async () => {
    const { table } = await createSumMetric(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const queue = createUnavailableQueue();
    const putTable = (json: unknown) => ownerCaller.put(`/v1/managed-tables/${table.id}`, { json, env: queue.env });
    expect((await putTable({ display_name: `${table.name}_moved` })).status).toBe(200);
    expect(await countWaitingMessages()).toBe(1);
    queue.comesBack();
    await runScheduled(queue.env);
    expect([await countWaitingMessages(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck', companyId: company.id, tables: [] })],
    ]);
  });

  it('is stored before the table changes, which fails if it cannot be stored', async () => {
    const { table } = await createSumMetric(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const json = { display_name: `${table.name}_moved` };
    const refusedPut = await ownerCaller.put(`/v1/managed-tables/${table.id}`, {
      json,
      env: createFailingEnv(/into "outbox"/),
    });
    expect(refusedPut.status).toBe(500);
    expect((await createTableClient(ownerCaller, table.id).get()).body.display_name).toBe(table.name);
    // What could not be removed is sent in vain after an hour.
    const unchangedPut = await ownerCaller.put(`/v1/managed-tables/${table.id}`, {
      json,
      env: createFailingEnv(/from "outbox"/),
    });
    expect([unchangedPut.status, await countWaitingMessages()]).toEqual([200, 1]);
    const queue = createUnavailableQueue();
    queue.comesBack();
    await runScheduled(queue.env);
    expect(queue.mine()).toEqual([]);
    advanceClock(60 * 60_000);
    await runScheduled(queue.env);
    resetClock();
    expect([await countWaitingMessages(), queue.mine().length]).toEqual([0, 1]);
  });

  it('is sent by the scheduled run, for an item that could not be checked', async () => {
    const { table } = await createSumMetric(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const queue = createUnavailableQueue();
    const unreachableDatabase = { ...queue.env, NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };
    const { records } = (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts`)).body;
    const fields = {
      kind: 'metric',
      name: makeName('Unchecked'),
      description: 'x',
      source_concept_ids: [records[0]._id],
    };
    const json = { ...fields, formula: 'sum(a)', mapped_tables: [table.name] };
    const { status, body } = await ownerCaller.post(`${KNOWLEDGE_PATH}/semantic`, { json, env: unreachableDatabase });
    expect([status, body.validation_errors[0]?.code, await countWaitingMessages()]).toEqual([201, 'not_checked', 1]);
    queue.comesBack();
    advanceClock(61_000);
    await runScheduled(queue.env);
    resetClock();
    expect([await countWaitingMessages(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck', companyId: company.id, tables: [table.name] })],
    ]);
  });

  it('is stored once if the change is retried because a concurrent change came first', async () => {
    const { item } = await createQuestion(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const queue = createUnavailableQueue();
    const patchItem = (json: unknown, env: Record<string, string>) =>
      ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, { json, env });
    const concurrentQueue = createUnavailableQueue();
    concurrentQueue.comesBack();
    const answer = await sendDuringRace(
      /^update "knowledge_resources"/,
      () => patchItem({ grain: 'day' }, concurrentQueue.env),
      (env) => patchItem({ description: 'Said anew.' }, { ...queue.env, ...env }),
    );
    expect([answer.status, answer.body.version, await countWaitingMessages()]).toEqual([200, 3, 1]);
    queue.comesBack();
    await runScheduled(queue.env);
  });

  it('is not stored if the company has no verified question', async () => {
    const other = await createProvisionedCompany();
    const { item } = await createSumMetric(other.as);
    const queue = createUnavailableQueue();
    const patchResponse = await other.as.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, {
      json: { grain: 'day' },
      env: queue.env,
    });
    expect([patchResponse.status, await countRows('outbox where company_id = ?', other.id)]).toEqual([200, 0]);
  });

  it('is sent with hundreds of other re-checks by one scheduled run, in batches that the queue accepts', async () => {
    await expect.poll(countWaitingMessages).toBe(0);
    const makeMessage = (tables: string[]) =>
      JSON.stringify({ type: 'knowledge.recheck', companyId: company.id, tables, after: '' });
    await runSql(
      `insert into outbox select lower(hex(randomblob(12))), ?, iif(key < 10, ?, ?), 1 from json_each(?)`,
      company.id,
      makeMessage(['é'.repeat(20_000)]),
      makeMessage([]),
      JSON.stringify(Array(350).fill(0)),
    );
    const batches: { body: JobMessage }[][] = [];
    const sendBatch = async (batch: { body: JobMessage }[]) => void batches.push(batch);
    await runScheduled({ RECHECKS: { sendBatch } });
    const companyBatches = batches.filter(([first]) => first?.body.companyId === company.id);
    expect([await countWaitingMessages(), companyBatches.flat().length]).toEqual([0, 350]);
    expect(Math.max(...companyBatches.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(Math.max(...companyBatches.map((batch) => Buffer.byteLength(JSON.stringify(batch))))).toBeLessThan(256_000);
    expect(companyBatches.length).toBeLessThan(10);
  });

  it('is not sent for a change that is refused, or changes nothing', async () => {
    const { table } = await createSumMetric(ownerCaller);
    await expect.poll(countWaitingMessages).toBe(0);
    const queue = createUnavailableQueue();
    const putTable = (json: unknown) => ownerCaller.put(`/v1/managed-tables/${table.id}`, { json, env: queue.env });
    expect((await putTable({ display_name: 'Not a name!' })).status).toBe(422);
    expect((await putTable({ display_name: table.name })).status).toBe(200);
    expect((await putTable({ columns: [makeColumn('a', 'integer'), makeColumn('b'), makeColumn('b')] })).status).toBe(
      422,
    );
    await expect.poll(countWaitingMessages).toBe(0);
    expect(queue.sent).toEqual([]);
  });
});
