import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createQuestion, createSum } from '../knowledge/questions/support.ts';
import { KNOWLEDGE_PATH, makeName } from '../knowledge/support.ts';
import { column, makeTableRoutes } from '../managed-tables/support.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { createFailingEnv } from '../support/outage.ts';
import { countRows, sendOvertaken } from '../support/rival.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';

let company: Company;
let asOwner: Company['as'];

beforeAll(async () => {
  company = await aProvisionedCompany();
  asOwner = company.as;
});

/** A queue that is away until it `comesBack`. */
function aQueue() {
  const sent: JobMessage[] = [];
  let isAway = true;
  const send = async (message: JobMessage) => {
    if (isAway) throw new Error('The queue is away.');
    sent.push(message);
  };
  const sendBatch = async (batch: { body: JobMessage }[]) => {
    for (const { body } of batch) await send(body);
  };
  return {
    sent,
    /** Of this company: a scheduled run sends those of others, too. */
    mine: () => sent.filter(({ companyId }) => companyId === company.id),
    env: { RECHECKS: { send, sendBatch } } as unknown as Record<string, string>,
    comesBack: () => {
      isAway = false;
    },
  };
}

const waiting = () => countRows('outbox where company_id = ?', company.id);

describe('a re-check of knowledge whose message cannot be sent', () => {
  it('is sent by the scheduled run, after a change of an item', async () => {
    const { item } = await createQuestion(asOwner);
    await expect.poll(waiting).toBe(0);
    const queue = aQueue();
    const changed = await asOwner.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, {
      json: { status: 'draft' },
      env: queue.env,
    });
    expect([changed.status, await waiting()]).toEqual([200, 1]);
    await runScheduled(queue.env);
    expect([await waiting(), queue.sent]).toEqual([1, []]);
    queue.comesBack();
    await runScheduled(queue.env);
    expect([await waiting(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck_questions', companyId: company.id, after: '' })],
    ]);
  });

  it('is sent by the scheduled run, after a change of a table', async () => {
    const { table } = await createSum(asOwner);
    await expect.poll(waiting).toBe(0);
    const queue = aQueue();
    const put = (json: unknown) => asOwner.put(`/v1/managed-tables/${table.id}`, { json, env: queue.env });
    expect((await put({ display_name: `${table.name}_moved` })).status).toBe(200);
    expect(await waiting()).toBe(1);
    queue.comesBack();
    await runScheduled(queue.env);
    expect([await waiting(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck', companyId: company.id, tables: [] })],
    ]);
  });

  it('is stored before the table changes, which fails if it cannot be stored', async () => {
    const { table } = await createSum(asOwner);
    await expect.poll(waiting).toBe(0);
    const json = { display_name: `${table.name}_moved` };
    const refused = await asOwner.put(`/v1/managed-tables/${table.id}`, {
      json,
      env: createFailingEnv(/into "outbox"/),
    });
    expect(refused.status).toBe(500);
    expect((await makeTableRoutes(asOwner, table.id).get()).body.display_name).toBe(table.name);
    // What could not be removed is sent in vain after an hour.
    const kept = await asOwner.put(`/v1/managed-tables/${table.id}`, { json, env: createFailingEnv(/from "outbox"/) });
    expect([kept.status, await waiting()]).toEqual([200, 1]);
    const queue = aQueue();
    queue.comesBack();
    try {
      await runScheduled(queue.env);
      expect(queue.mine()).toEqual([]);
      advanceClock(60 * 60_000);
      await runScheduled(queue.env);
    } finally {
      resetClock();
    }
    expect([await waiting(), queue.mine().length]).toEqual([0, 1]);
  });

  it('is sent by the scheduled run, after an item that could not be checked', async () => {
    const { table } = await createSum(asOwner);
    await expect.poll(waiting).toBe(0);
    const queue = aQueue();
    const unreachable = { ...queue.env, NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };
    const { records } = (await asOwner.get(`${KNOWLEDGE_PATH}/concepts`)).body;
    const fields = {
      kind: 'metric',
      name: makeName('Unchecked'),
      description: 'x',
      source_concept_ids: [records[0]._id],
    };
    const json = { ...fields, formula: 'sum(a)', mapped_tables: [table.name] };
    const { status, body } = await asOwner.post(`${KNOWLEDGE_PATH}/semantic`, { json, env: unreachable });
    expect([status, body.validation_errors[0]?.code, await waiting()]).toEqual([201, 'not_checked', 1]);
    queue.comesBack();
    try {
      advanceClock(61_000);
      await runScheduled(queue.env);
    } finally {
      resetClock();
    }
    expect([await waiting(), queue.mine()]).toEqual([
      0,
      [expect.objectContaining({ type: 'knowledge.recheck', companyId: company.id, tables: [table.name] })],
    ]);
  });

  it('is stored once if the change is retried because another one came first', async () => {
    const { item } = await createQuestion(asOwner);
    await expect.poll(waiting).toBe(0);
    const queue = aQueue();
    const patch = (json: unknown, env: Record<string, string>) =>
      asOwner.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, { json, env });
    const rival = aQueue();
    rival.comesBack();
    const answer = await sendOvertaken(
      /^update "knowledge_resources"/,
      () => patch({ grain: 'day' }, rival.env),
      (env) => patch({ description: 'Said anew.' }, { ...queue.env, ...env }),
    );
    expect([answer.status, answer.body.version, await waiting()]).toEqual([200, 3, 1]);
    queue.comesBack();
    await runScheduled(queue.env);
  });

  it('is not stored if the company has no verified question', async () => {
    const other = await aProvisionedCompany();
    const { item } = await createSum(other.as);
    const queue = aQueue();
    const patch = await other.as.patch(`${KNOWLEDGE_PATH}/semantic/${item}`, {
      json: { grain: 'day' },
      env: queue.env,
    });
    expect([patch.status, await countRows('outbox where company_id = ?', other.id)]).toEqual([200, 0]);
  });

  it('is sent with hundreds of others by one scheduled run, in batches that the queue takes', async () => {
    await expect.poll(waiting).toBe(0);
    const message = (tables: string[]) =>
      JSON.stringify({ type: 'knowledge.recheck', companyId: company.id, tables, after: '' });
    await env.CONTROL_DB.prepare(
      `insert into outbox select lower(hex(randomblob(12))), ?, iif(key < 10, ?, ?), 1 from json_each(?)`,
    )
      .bind(company.id, message(['é'.repeat(20_000)]), message([]), JSON.stringify(Array(350).fill(0)))
      .run();
    const batches: { body: JobMessage }[][] = [];
    const sendBatch = async (batch: { body: JobMessage }[]) => void batches.push(batch);
    await runScheduled({ RECHECKS: { sendBatch } });
    const mine = batches.filter(([first]) => first?.body.companyId === company.id);
    expect([await waiting(), mine.flat().length]).toEqual([0, 350]);
    expect(Math.max(...mine.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(Math.max(...mine.map((batch) => Buffer.byteLength(JSON.stringify(batch))))).toBeLessThan(256_000);
    expect(mine.length).toBeLessThan(10);
  });

  it('is not sent for a change that is refused, or changes nothing', async () => {
    const { table } = await createSum(asOwner);
    await expect.poll(waiting).toBe(0);
    const queue = aQueue();
    const put = (json: unknown) => asOwner.put(`/v1/managed-tables/${table.id}`, { json, env: queue.env });
    expect((await put({ display_name: 'Not a name!' })).status).toBe(422);
    expect((await put({ display_name: table.name })).status).toBe(200);
    expect((await put({ columns: [column('a', 'integer'), column('b'), column('b')] })).status).toBe(422);
    await expect.poll(waiting).toBe(0);
    expect(queue.sent).toEqual([]);
  });
});
