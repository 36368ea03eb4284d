import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { openWithinLimit, runInInvocation } from '../../local/limits/invocation.ts';
import { LIMITS } from '../../local/limits/limits.ts';
import { runSql } from '../support/race.ts';

const makeText = (bytes: number): string => 'x'.repeat(bytes);
const makeList = <T>(length: number, makeItem: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => makeItem(index));

/** Runs a D1 statement with the given values. */
const runStatement = (sql: string, ...values: unknown[]) =>
  env.CONTROL_DB.withSession()
    .prepare(sql)
    .bind(...values)
    .all();

/** Runs a statement in the SQLite database of a Durable Object. */
const runObjectStatement = (sql: string, ...values: unknown[]) =>
  runInLog(({ sql: storage }) => storage.exec(sql, ...(values as string[])).toArray());

const runInLog = <T>(useStorage: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(env.COMPANY_LOG.getByName('limits'), async (_, { storage }) => {
    storage.sql.exec('CREATE TABLE IF NOT EXISTS wide (a TEXT, b TEXT)');
    return useStorage(storage);
  });

async function upload(...sizes: number[]): Promise<void> {
  const multipartUpload = await env.FILES.createMultipartUpload('parts');
  const parts: R2UploadedPart[] = [];
  for (const [index, size] of sizes.entries())
    parts.push(await multipartUpload.uploadPart(index + 1, new Uint8Array(size)));
  await multipartUpload.complete(parts);
}

const MIB_BYTES = 1024 * 1024;

/** Calls that the platform accepts, and calls that it refuses. */
type LimitCase = Record<'taken' | 'refused', readonly (() => unknown)[]>;

/** A case for each limit of the platform; `npm run test:memory` tests the memory limit. */
const CASES: Record<Exclude<keyof typeof LIMITS, 'connections' | 'memory'>, LimitCase> = {
  keysOfDelete: {
    taken: [() => env.FILES.delete(makeList(1_000, String)), () => env.FILES.delete('one')],
    refused: [() => env.FILES.delete([]), () => env.FILES.delete(makeList(1_001, String))],
  },
  keyBytes: {
    taken: [() => env.FILES.put(makeText(1_024), 'a')],
    refused: [() => env.FILES.put(makeText(1_025), 'a'), () => env.FILES.get('é'.repeat(513))],
  },
  partBytes: {
    taken: [() => upload(5 * MIB_BYTES, 5 * MIB_BYTES, 1)],
    refused: [() => upload(5 * MIB_BYTES, 6 * MIB_BYTES, 1), () => upload(4 * MIB_BYTES, 4 * MIB_BYTES)],
  },
  parameters: {
    taken: [
      () => runStatement('SELECT ?100', ...makeList(100, String)),
      () => runObjectStatement('SELECT ?100', ...makeList(100, String)),
    ],
    refused: [
      () => runStatement('SELECT ?101', ...makeList(101, String)),
      () => runObjectStatement('SELECT ?101', ...makeList(101, String)),
    ],
  },
  statementBytes: {
    taken: [() => runStatement(`SELECT 1 /*${makeText(99_000)}*/`)],
    refused: [
      () => runStatement(`SELECT 1 /*${makeText(100_000)}*/`),
      () => runObjectStatement(`SELECT 1 /*${makeText(100_000)}*/`),
    ],
  },
  patternBytes: {
    taken: [
      () => runStatement("SELECT 'a' LIKE ?", makeText(50)),
      () => runStatement("SELECT 'a' GLOB ?", makeText(50)),
    ],
    refused: [
      () => runStatement("SELECT 'a' LIKE ?", makeText(51)),
      () => runStatement("SELECT 'a' GLOB ?", makeText(51)),
      () => runObjectStatement("SELECT 'a' LIKE ?", makeText(51)),
    ],
  },
  valueBytes: {
    taken: [
      () => runStatement('SELECT length(?)', makeText(2_000_000)),
      () => runStatement('SELECT length(?), length(?)', makeText(1_500_000), makeText(1_500_000)),
      () => runStatement('INSERT INTO wide (a, b) VALUES (?, ?), (?, ?)', ...makeList(4, () => makeText(900_000))),
    ],
    refused: [
      () => runStatement('SELECT length(?)', makeText(2_000_001)),
      () => runStatement('SELECT length(?)', 'é'.repeat(1_000_001)),
      () => runStatement('INSERT INTO wide (a, b) VALUES (?, ?)', makeText(1_000_001), makeText(1_000_000)),
      () =>
        runStatement(
          'INSERT INTO wide (a, b) VALUES (?, ?), (?, ?)',
          'a',
          'b',
          makeText(1_000_001),
          makeText(1_000_000),
        ),
      () => {
        const largeStatement = env.CONTROL_DB.prepare('SELECT length(?)').bind(makeText(2_000_001));
        return env.CONTROL_DB.batch([env.CONTROL_DB.prepare('SELECT 1'), largeStatement]);
      },
    ],
  },
  queries: {
    taken: [() => runInInvocation(() => runQueries(1_000))],
    refused: [() => runInInvocation(() => runQueries(1_001))],
  },
  messageBytes: {
    taken: [() => env.AUDIT.send(makeText(127_000))],
    refused: [() => env.AUDIT.send(makeText(129_000)), () => env.AUDIT.sendBatch([{ body: makeText(129_000) }])],
  },
  messagesOfBatch: {
    taken: [() => env.AUDIT.sendBatch(makeList(100, (body) => ({ body })))],
    refused: [() => env.AUDIT.sendBatch(makeList(101, (body) => ({ body }))), () => env.AUDIT.sendBatch([])],
  },
  batchBytes: {
    taken: [() => env.JOBS.sendBatch(makeList(2, () => ({ body: makeText(120_000) })))],
    refused: [() => env.JOBS.sendBatch(makeList(3, () => ({ body: makeText(90_000) })))],
  },
  objectValueBytes: {
    taken: [
      () => runObjectStatement('SELECT length(?)', makeText(2_000_000)),
      () => runObjectStatement('INSERT INTO wide (a, b) VALUES (?, ?)', makeText(900_000), makeText(900_000)),
    ],
    refused: [
      () => runObjectStatement('SELECT length(?)', makeText(2_000_001)),
      () => runObjectStatement('INSERT INTO wide (a, b) VALUES (?, ?)', makeText(1_000_001), makeText(1_000_000)),
    ],
  },
  objectEntryBytes: {
    taken: [() => runInLog((storage) => storage.put('key', makeText(1_900_000)))],
    refused: [
      () => runInLog((storage) => storage.put('key', makeText(2_000_000))),
      () => runInLog((storage) => storage.put({ one: 1, two: makeText(2_000_000) })),
      () => runInLog((storage) => storage.kv.put('key', { of: makeText(2_000_000) })),
    ],
  },
  alarms: {
    taken: [() => runInLog((storage) => storage.setAlarm(Date.now() + 3_600_000))],
    refused: [
      () => runInLog((storage) => storage.setAlarm(0)),
      () =>
        runInDurableObject(env.VIEWER_GATE.getByName('limits'), (_, { storage }) =>
          storage.setAlarm(Date.now() + 3_600_000),
        ),
    ],
  },
  subrequests: {
    taken: [() => runInInvocation(() => openConnectionsInTurn(10_000))],
    refused: [() => runInInvocation(() => openConnectionsInTurn(10_001))],
  },
};

async function runQueries(queryCount: number): Promise<void> {
  const statement = env.CONTROL_DB.prepare('SELECT 1');
  for (let sentCount = 0; sentCount < queryCount; sentCount += 100)
    await Promise.all(makeList(Math.min(100, queryCount - sentCount), () => statement.all()));
}

async function openConnectionsInTurn(connectionCount: number): Promise<void> {
  for (let openedCount = 0; openedCount < connectionCount; openedCount += 1)
    await openWithinLimit(async () => undefined);
}

describe('a limit of the platform, as tests and `npm start` apply it', () => {
  it.each(Object.entries(CASES))(
    'accepts a use within %s, and refuses a use beyond the limit',
    { timeout: 120_000 },
    async (_, { taken, refused }) => {
      await runSql('CREATE TABLE IF NOT EXISTS wide (a TEXT, b TEXT)');
      for (const makeCall of taken) await makeCall();
      for (const [index, work] of refused.entries()) {
        await expect(Promise.resolve().then(work), `the refusal ${index + 1}`).rejects.toThrow();
      }
    },
  );

  it('makes the seventh connection of an invocation wait until another has its answer', async () => {
    const answers = makeList(8, () => Promise.withResolvers<void>());
    let startedCount = 0;
    const allConnections = runInInvocation(() =>
      answers.map(({ promise }) =>
        openWithinLimit(() => {
          startedCount += 1;
          return promise;
        }),
      ),
    );
    await expect.poll(() => startedCount).toBe(6);
    answers[0]?.resolve();
    await expect.poll(() => startedCount).toBe(7);
    for (const { resolve } of answers) resolve();
    await Promise.all(allConnections);
    expect(startedCount).toBe(8);
    // Those of others do not count.
    expect(await runInInvocation(() => openWithinLimit(async () => 'at once'))).toBe('at once');
  });
});

it('the table of the platform’s limits names a document of Cloudflare for each limit', () => {
  for (const { documentUrl } of Object.values(LIMITS))
    expect(documentUrl).toMatch(/^https:\/\/developers\.cloudflare\.com\//);
});
