import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, it } from 'vitest';
import { openWithinLimit, runInInvocation } from '../../local/limits/invocation.ts';
import { LIMITS } from '../../local/limits/limits.ts';
import { resetClock } from '../support/clock.ts';

afterEach(resetClock);

const text = (bytes: number): string => 'x'.repeat(bytes);
const list = <T>(length: number, of: (index: number) => T): T[] => Array.from({ length }, (_, index) => of(index));

/** Runs a statement of D1 with these values. */
const ask = (sql: string, ...values: unknown[]) =>
  env.CONTROL_DB.withSession()
    .prepare(sql)
    .bind(...values)
    .all();

/** The same in an object. */
const askObject = (sql: string, ...values: unknown[]) =>
  inLog(({ sql: storage }) => storage.exec(sql, ...(values as string[])).toArray());

const inLog = <T>(work: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(env.COMPANY_LOG.getByName('limits'), async (_, { storage }) => {
    storage.sql.exec('CREATE TABLE IF NOT EXISTS wide (a TEXT, b TEXT)');
    return work(storage);
  });

async function upload(...sizes: number[]): Promise<void> {
  const started = await env.FILES.createMultipartUpload('parts');
  const parts: R2UploadedPart[] = [];
  for (const [index, size] of sizes.entries()) parts.push(await started.uploadPart(index + 1, new Uint8Array(size)));
  await started.complete(parts);
}

const MEBIBYTE = 1024 * 1024;

/** What the platform takes, and what it refuses. */
type Case = Record<'taken' | 'refused', readonly (() => unknown)[]>;

/** A case for each line of the table; `npm run test:memory` holds that of memory. */
const CASES: Record<Exclude<keyof typeof LIMITS, 'connections' | 'memory'>, Case> = {
  keysOfDelete: {
    taken: [() => env.FILES.delete(list(1_000, String)), () => env.FILES.delete('one')],
    refused: [() => env.FILES.delete([]), () => env.FILES.delete(list(1_001, String))],
  },
  keyBytes: {
    taken: [() => env.FILES.put(text(1_024), 'a')],
    refused: [() => env.FILES.put(text(1_025), 'a'), () => env.FILES.get('é'.repeat(513))],
  },
  partBytes: {
    taken: [() => upload(5 * MEBIBYTE, 5 * MEBIBYTE, 1)],
    refused: [() => upload(5 * MEBIBYTE, 6 * MEBIBYTE, 1), () => upload(4 * MEBIBYTE, 4 * MEBIBYTE)],
  },
  parameters: {
    taken: [() => ask('SELECT ?100', ...list(100, String)), () => askObject('SELECT ?100', ...list(100, String))],
    refused: [() => ask('SELECT ?101', ...list(101, String)), () => askObject('SELECT ?101', ...list(101, String))],
  },
  statementBytes: {
    taken: [() => ask(`SELECT 1 /*${text(99_000)}*/`)],
    refused: [() => ask(`SELECT 1 /*${text(100_000)}*/`), () => askObject(`SELECT 1 /*${text(100_000)}*/`)],
  },
  patternBytes: {
    taken: [() => ask("SELECT 'a' LIKE ?", text(50)), () => ask("SELECT 'a' GLOB ?", text(50))],
    refused: [
      () => ask("SELECT 'a' LIKE ?", text(51)),
      () => ask("SELECT 'a' GLOB ?", text(51)),
      () => askObject("SELECT 'a' LIKE ?", text(51)),
    ],
  },
  valueBytes: {
    taken: [
      () => ask('SELECT length(?)', text(2_000_000)),
      () => ask('SELECT length(?), length(?)', text(1_500_000), text(1_500_000)),
      () => ask('INSERT INTO wide (a, b) VALUES (?, ?), (?, ?)', ...list(4, () => text(900_000))),
    ],
    refused: [
      () => ask('SELECT length(?)', text(2_000_001)),
      () => ask('SELECT length(?)', 'é'.repeat(1_000_001)),
      () => ask('INSERT INTO wide (a, b) VALUES (?, ?)', text(1_000_001), text(1_000_000)),
      () => ask('INSERT INTO wide (a, b) VALUES (?, ?), (?, ?)', 'a', 'b', text(1_000_001), text(1_000_000)),
      () => {
        const large = env.CONTROL_DB.prepare('SELECT length(?)').bind(text(2_000_001));
        return env.CONTROL_DB.batch([env.CONTROL_DB.prepare('SELECT 1'), large]);
      },
    ],
  },
  queries: {
    taken: [() => runInInvocation(() => runQueries(1_000))],
    refused: [() => runInInvocation(() => runQueries(1_001))],
  },
  messageBytes: {
    taken: [() => env.AUDIT.send(text(127_000))],
    refused: [() => env.AUDIT.send(text(129_000)), () => env.AUDIT.sendBatch([{ body: text(129_000) }])],
  },
  messagesOfBatch: {
    taken: [() => env.AUDIT.sendBatch(list(100, (body) => ({ body })))],
    refused: [() => env.AUDIT.sendBatch(list(101, (body) => ({ body }))), () => env.AUDIT.sendBatch([])],
  },
  batchBytes: {
    taken: [() => env.JOBS.sendBatch(list(2, () => ({ body: text(120_000) })))],
    refused: [() => env.JOBS.sendBatch(list(3, () => ({ body: text(90_000) })))],
  },
  objectValueBytes: {
    taken: [
      () => askObject('SELECT length(?)', text(2_000_000)),
      () => askObject('INSERT INTO wide (a, b) VALUES (?, ?)', text(900_000), text(900_000)),
    ],
    refused: [
      () => askObject('SELECT length(?)', text(2_000_001)),
      () => askObject('INSERT INTO wide (a, b) VALUES (?, ?)', text(1_000_001), text(1_000_000)),
    ],
  },
  objectEntryBytes: {
    taken: [() => inLog((storage) => storage.put('key', text(1_900_000)))],
    refused: [
      () => inLog((storage) => storage.put('key', text(2_000_000))),
      () => inLog((storage) => storage.put({ one: 1, two: text(2_000_000) })),
      () => inLog((storage) => storage.kv.put('key', { of: text(2_000_000) })),
    ],
  },
  alarms: {
    taken: [() => inLog((storage) => storage.setAlarm(Date.now() + 3_600_000))],
    refused: [
      () => inLog((storage) => storage.setAlarm(0)),
      () =>
        runInDurableObject(env.VIEWER_GATE.getByName('limits'), (_, { storage }) =>
          storage.setAlarm(Date.now() + 3_600_000),
        ),
    ],
  },
  subrequests: {
    taken: [() => runInInvocation(() => connectedTimes(10_000))],
    refused: [() => runInInvocation(() => connectedTimes(10_001))],
  },
};

async function runQueries(times: number): Promise<void> {
  const statement = env.CONTROL_DB.prepare('SELECT 1');
  for (let sent = 0; sent < times; sent += 100)
    await Promise.all(list(Math.min(100, times - sent), () => statement.all()));
}

async function connectedTimes(times: number): Promise<void> {
  for (let sent = 0; sent < times; sent += 1) await openWithinLimit(async () => undefined);
}

describe('a limit of the platform, as tests and `npm start` apply it', () => {
  it.each(Object.entries(CASES))(
    'accepts what keeps to %s, and refuses what exceeds it',
    { timeout: 120_000 },
    async (_, { taken, refused }) => {
      await env.CONTROL_DB.prepare('CREATE TABLE IF NOT EXISTS wide (a TEXT, b TEXT)').run();
      for (const work of taken) await work();
      for (const [index, work] of refused.entries()) {
        await expect(Promise.resolve().then(work), `the refusal ${index + 1}`).rejects.toThrow();
      }
    },
  );

  it('makes the seventh connection of an invocation wait until another has its answer', async () => {
    const answers = list(8, () => Promise.withResolvers<void>());
    let begun = 0;
    const all = runInInvocation(() =>
      answers.map(({ promise }) =>
        openWithinLimit(() => {
          begun += 1;
          return promise;
        }),
      ),
    );
    await expect.poll(() => begun).toBe(6);
    answers[0]?.resolve();
    await expect.poll(() => begun).toBe(7);
    for (const { resolve } of answers) resolve();
    await Promise.all(all);
    expect(begun).toBe(8);
    // Those of others do not count.
    expect(await runInInvocation(() => openWithinLimit(async () => 'at once'))).toBe('at once');
  });
});

describe('the table of the platform’s limits', () => {
  it('names a document of Cloudflare for each limit', () => {
    for (const { document } of Object.values(LIMITS))
      expect(document).toMatch(/^https:\/\/developers\.cloudflare\.com\//);
  });
});
