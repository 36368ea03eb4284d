import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import { openContext } from '../../src/context.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { finishCompleteUploads } from '../../src/modules/uploads/resumable.ts';
import { makeArn } from '../contract/access-paths/access-path.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { resetClock, stopClockAt } from '../support/clock.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createPrincipals } from '../support/principals.ts';
import { expectSuccess, makeAllow } from '../support/signed.ts';
import { runBeforeNextStatement } from '../support/tunnel.ts';
import {
  createTestQueue,
  deliverAllMessages,
  listStoredFiles,
  makeFile,
  queryDatabase,
  readJob,
  runSweep,
  uploadFiles,
} from './support.ts';
import {
  areEqual,
  beginUpload,
  deleteUpload,
  makeCsvBytes,
  PIECE_BYTES,
  parseOffset,
  parseUploadId,
  readJobBytes,
  readOffset,
  requestUpload,
  sendPart,
  streamSlowly,
} from './tus.ts';

const createTestQueueEnv = () => createTestQueue().env as never;
const HOUR_MS = 3_600_000;

const company = await createProvisionedCompany();

const listOwnFiles = async (path: string) =>
  (await listStoredFiles(company)).filter((key) => key.includes(parseUploadId(path)));
const runSql = (text: string) => queryDatabase(company, (database) => database.execute(text));
/** Ends the lease of an upload, as if ten seconds had passed. */
const endLease = (path: string) =>
  runSql(
    `UPDATE console.resumable_uploads SET writer_until = now() - interval '1 s' WHERE id = '${parseUploadId(path)}'`,
  );

/** Creates a bucket of files in which `changedMethods` replaces `put` and `get`. */
const createFilesBucket = (changedMethods: {
  put?: (put: () => Promise<unknown>) => Promise<unknown>;
  get?: () => Promise<never>;
}) => ({
  FILES: {
    list: (options: R2ListOptions) => env.FILES.list(options),
    get: (key: string) => changedMethods.get?.() ?? env.FILES.get(key),
    delete: (keys: string[]) => env.FILES.delete(keys),
    put: (key: string, bytes: Uint8Array) => {
      const ownBytes = bytes.slice();
      const storeBytes = () => env.FILES.put(key, ownBytes);
      return changedMethods.put ? changedMethods.put(storeBytes) : storeBytes();
    },
  },
  ...createTestQueue().env,
});

describe('two requests at once for one resumable upload', () => {
  it('do not both write: one adds its bytes, and the other request is refused', async () => {
    const bytes = makeCsvBytes(PIECE_BYTES + 1_000);
    const path = await beginUpload(company.as, bytes.length);
    const refusedStatuses: number[] = [];
    const sentPart = await sendPart(
      company.as,
      path,
      0,
      streamSlowly(bytes, {
        chunkSize: PIECE_BYTES / 2,
        beforeChunk: async (at) => {
          if (at === 0) return;
          // What came so far is in no piece yet; then one is there.
          refusedStatuses.push((await sendPart(company.as, path, 0, makeCsvBytes(10, 1))).status);
          refusedStatuses.push((await sendPart(company.as, path, PIECE_BYTES, makeCsvBytes(10, 1))).status);
        },
      }),
      { env: createTestQueueEnv() },
    );
    expect(sentPart.status).toBe(204);
    expect(refusedStatuses.slice(0, 4)).toEqual([423, 409, 409, 423]);
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
  });

  it('do not mix their bytes when the first one loses its lease and then wakes up late', async () => {
    const [late, bytes] = [makeCsvBytes(PIECE_BYTES + 10, 1), makeCsvBytes(PIECE_BYTES + 10, 2)];
    const path = await beginUpload(company.as, bytes.length);
    const FILES = createFilesBucket({
      put: async (put) => {
        await endLease(path);
        expect((await sendPart(company.as, path, 0, streamSlowly(bytes), { env: createTestQueueEnv() })).status).toBe(
          204,
        );
        return put();
      },
    });
    const refusedPart = await sendPart(company.as, path, 0, streamSlowly(late), { env: FILES as never });
    expect([refusedPart.status, refusedPart.body.error_code]).toEqual([423, 'UPLOAD_LOCKED']);
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
    expect(await listOwnFiles(path)).toHaveLength(2);
  });

  it('do not mix their bytes when the first one loses its lease and then ends late', async () => {
    const [late, bytes] = [makeCsvBytes(20, 1), makeCsvBytes(30, 2)];
    const path = await beginUpload(company.as, bytes.length);
    const body = streamSlowly(late, {
      chunkSize: 10,
      beforeChunk: async (at) => {
        if (at !== 10) return;
        await endLease(path);
        await sendPart(company.as, path, 0, bytes.subarray(0, 15));
      },
    });
    expect((await sendPart(company.as, path, 0, body)).status).toBe(423);
    expect(parseOffset(await readOffset(company.as, path))).toBe(15);
    await sendPart(company.as, path, 15, bytes.subarray(15), { env: createTestQueueEnv() });
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
  });

  it('let the first one continue after its lease expired, if no other request has written', async () => {
    const bytes = makeCsvBytes(PIECE_BYTES + 10);
    const path = await beginUpload(company.as, bytes.length);
    const body = streamSlowly(bytes, { chunkSize: PIECE_BYTES, beforeChunk: () => endLease(path).then(() => {}) });
    expect((await sendPart(company.as, path, 0, body, { env: createTestQueueEnv() })).status).toBe(204);
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
  });

  it('keep the second request out while bytes of the first still arrive slowly', async () => {
    const path = await beginUpload(company.as, 30);
    let refusedCount = 0;
    const body = streamSlowly(makeCsvBytes(30), {
      chunkSize: 10,
      beforeChunk: async (at) => {
        if (at === 10) {
          await endLease(path);
          stopClockAt(Date.now() + 4_000);
        }
        if (at === 20) {
          // The chunk before was taken by now, and said that somebody is there.
          await expect.poll(() => isLeased(path)).toBe(true);
          refusedCount = (await sendPart(company.as, path, 0, makeCsvBytes(5))).status;
        }
      },
    });
    expect((await sendPart(company.as, path, 0, body, { env: createTestQueueEnv() })).status).toBe(204);
    resetClock();
    expect(refusedCount).toBe(423);
  });

  const isLeased = (path: string) =>
    queryDatabase(company, async (database) => {
      const rows = await database.query(
        `SELECT FROM console.resumable_uploads WHERE id = '${parseUploadId(path)}' AND writer_until > now()`,
      );
      return rows.length === 1;
    });
});

describe('a resumable upload whose object store is down', () => {
  const unavailableBucket = createFilesBucket({ put: () => Promise.reject(new Error('R2 is away')) });

  it('continues at the offset that HEAD answers', async () => {
    const bytes = makeCsvBytes(2 * PIECE_BYTES + 10);
    const path = await beginUpload(company.as, bytes.length);
    await sendPart(company.as, path, 0, bytes.subarray(0, 10));
    let putCount = 0;
    const failingOnceBucket = createFilesBucket({
      put: (put) => (putCount++ === 1 ? Promise.reject(new Error('R2 is away')) : put()),
    });
    const failedPart = await sendPart(company.as, path, 10, streamSlowly(bytes.subarray(10)), {
      env: failingOnceBucket as never,
    });
    expect([failedPart.status, failedPart.body.error_code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
    expect(parseOffset(await readOffset(company.as, path))).toBe(PIECE_BYTES);
    const unreadableBucket = createFilesBucket({ get: () => Promise.reject(new Error('R2 is away')) });
    const shortUpload = await beginUpload(company.as, 20);
    await sendPart(company.as, shortUpload, 0, bytes.subarray(0, 10));
    expect(
      (await sendPart(company.as, shortUpload, 10, bytes.subarray(10, 20), { env: unreadableBucket as never })).status,
    ).toBe(503);
    expect(
      (await sendPart(company.as, shortUpload, 10, bytes.subarray(10, 20), { env: createTestQueueEnv() })).status,
    ).toBe(204);
    await sendPart(company.as, path, PIECE_BYTES, streamSlowly(bytes.subarray(PIECE_BYTES)), {
      env: createTestQueueEnv(),
    });
    expect(areEqual(await readJobBytes(company, parseUploadId(path)), bytes)).toBe(true);
  });

  it('is begun without its first bytes, and accepts them later', async () => {
    const answer = await requestUpload(company.as, 10, { body: makeCsvBytes(10), env: unavailableBucket as never });
    expect([answer.status, parseOffset(answer)]).toEqual([201, 0]);
    const path = answer.headers.get('location') as string;
    expect((await sendPart(company.as, path, 0, makeCsvBytes(10), { env: createTestQueueEnv() })).status).toBe(204);
  });
});

describe('a resumable upload that is deleted', () => {
  it('refuses a request that is still sending, and keeps none of its bytes', async () => {
    const path = await beginUpload(company.as, 2 * PIECE_BYTES);
    const files = createFilesBucket({
      put: async (put) => {
        expect((await deleteUpload(company.as, path)).status).toBe(204);
        return put();
      },
    });
    const refusedPart = await sendPart(company.as, path, 0, streamSlowly(makeCsvBytes(2 * PIECE_BYTES)), {
      env: files as never,
    });
    expect(refusedPart.status).toBe(404);
    expect(await listOwnFiles(path)).toEqual([]);
  });

  it('keeps its bytes when its job was created just before', async () => {
    const path = await beginUpload(company.as, 10);
    const { outcome } = await runBeforeNextStatement(company.id, /DELETE FROM console\.resumable_uploads/, () =>
      sendPart(company.as, path, 0, makeCsvBytes(10), { env: createTestQueueEnv() }),
    );
    expect((await deleteUpload(company.as, path)).status).toBe(204);
    expect((await outcome).status).toBe(204);
    expect((await readJobBytes(company, parseUploadId(path))).length).toBe(10);
  });

  it('creates no job when it was deleted just before its last byte was stored', async () => {
    const path = await beginUpload(company.as, 10);
    const { outcome } = await runBeforeNextStatement(company.id, /SET is_finished = true/, () =>
      deleteUpload(company.as, path),
    );
    const queue = createTestQueue();
    expect((await sendPart(company.as, path, 0, makeCsvBytes(10), { env: queue.env as never })).status).toBe(404);
    expect((await outcome).status).toBe(204);
    expect(queue.messages).toEqual([]);
    expect((await company.as.get(`/v1/managed-tables/upload-jobs/${parseUploadId(path)}`)).status).toBe(404);
  });
});

describe('a complete resumable upload whose job was not created', () => {
  /** Creates an upload whose bytes are all stored, but whose last request died before it created the job. */
  async function createCompleteUpload(length = 10): Promise<string> {
    const path = await beginUpload(company.as, length);
    const JOBS = { send: () => Promise.reject(new Error('the isolate dies')) };
    await sendPart(company.as, path, 0, makeCsvBytes(length), { env: { JOBS } as never });
    await runSql(`UPDATE console.resumable_uploads SET is_finished = false WHERE id = '${parseUploadId(path)}'`);
    await runSql(`DELETE FROM console.upload_jobs WHERE id = '${parseUploadId(path)}'`);
    return path;
  }

  /** Creates jobs for complete uploads, as a sweep does. @returns the number of jobs */
  async function createMissingJobs(): Promise<number> {
    const origin = {
      env: { ...env, ...createTestQueue().env } as never,
      waitUntil: () => {},
      correlationId: 'test',
      baseUrl: '',
      ip: null,
    };
    const { context, close } = openContext(origin, { kind: 'system', companyId: company.id });
    try {
      return await finishCompleteUploads(context, await requireDatabase(context), 10);
    } finally {
      await close();
    }
  }

  it('has its job created by the next HEAD request', async () => {
    const path = await createCompleteUpload();
    const queue = createTestQueue();
    const answer = await readOffset(company.as, path, { env: queue.env as never });
    expect(answer.headers.get('content-location')).toContain(parseUploadId(path));
    expect(queue.messages).toHaveLength(1);
  });

  it('has its job created by the sweep', async () => {
    const path = await createCompleteUpload();
    const queue = createTestQueue();
    await runSweep(queue, 120_000);
    expect(
      queue.messages.filter((message) => 'jobId' in message && message.jobId === parseUploadId(path)),
    ).toHaveLength(1);
    expect((await readJob(company, parseUploadId(path))).status).toBe('queued');
  });

  it('has one job when two requests create it at once', async () => {
    const path = await createCompleteUpload();
    const queue = createTestQueue();
    const readUploadOffset = () => readOffset(company.as, path, { env: queue.env as never });
    const { outcome } = await runBeforeNextStatement(company.id, /SET is_finished = true/, readUploadOffset);
    const answers = [await readUploadOffset(), await outcome];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    for (const { headers } of answers) expect(headers.get('content-location')).toContain(parseUploadId(path));
    expect(queue.messages).toHaveLength(1);
  });

  it('keeps its files while bytes still arrive, even if it was begun more than a day ago', async () => {
    const path = await beginUpload(company.as, 10);
    // It was begun more than a day ago when the sweep runs, with a byte of late.
    await sendPart(company.as, path, 0, makeCsvBytes(9), { env: createTestQueueEnv() });
    await runSql(
      `UPDATE console.resumable_uploads SET updated_at = now() + interval '23 h' WHERE id = '${parseUploadId(path)}'`,
    );
    await runSweep(createTestQueue(), 24 * HOUR_MS + 120_000);
    expect(await listOwnFiles(path)).not.toEqual([]);
  });

  it('keeps its files when its job is created while the sweep deletes files', async () => {
    const path = await createCompleteUpload();
    // Begun more than a day ago, with a byte of late, and one that is still to come.
    const lateCondition = `updated_at = now() + interval '23 h', received = received - 1`;
    await runSql(`UPDATE console.resumable_uploads SET ${lateCondition} WHERE id = '${parseUploadId(path)}'`);
    const { outcome } = await runBeforeNextStatement(
      company.id,
      /FROM console\.upload_jobs WHERE company_id = \$1 AND id = ANY/,
      async () => {
        await runSql(
          `UPDATE console.resumable_uploads SET received = received + 1 WHERE id = '${parseUploadId(path)}'`,
        );
        return createMissingJobs();
      },
    );
    await runSweep(createTestQueue(), 24 * HOUR_MS + 120_000);
    expect(await outcome).toBe(1);
    expect((await readJobBytes(company, parseUploadId(path))).length).toBe(10);
  });

  it('fails its job when its table or a column of its key is gone', async () => {
    const tableId = await createTable(company.as, 'some', [
      makeColumn('codigo', 'integer'),
      makeColumn('nome', 'text'),
    ]);
    const queue = createTestQueue();
    const requestOptions = { env: queue.env as never };
    const keyedUpload = await beginUpload(company.as, 10, {
      metadata: { table_id: tableId, mode: 'upsert', key: 'nome' },
    });
    const plainUpload = await beginUpload(company.as, 10, { metadata: { table_id: tableId } });
    await runSql(
      `UPDATE console.managed_tables SET columns = (SELECT jsonb_agg(c) FROM jsonb_array_elements(columns) AS c WHERE c->>'name' <> 'nome') WHERE id = '${tableId}'`,
    );
    expect((await sendPart(company.as, keyedUpload, 0, makeCsvBytes(10), requestOptions)).status).toBe(204);
    expect(await readJob(company, parseUploadId(keyedUpload))).toMatchObject({
      status: 'failed',
      error: { code: 'TABLE_CHANGED' },
    });
    await expectSuccess(company.as.delete(`/v1/managed-tables/${tableId}`));
    expect((await sendPart(company.as, plainUpload, 0, makeCsvBytes(10), requestOptions)).status).toBe(204);
    await deliverAllMessages(queue);
    expect(await readJob(company, parseUploadId(plainUpload))).toMatchObject({
      status: 'failed',
      error: { code: 'TABLE_NOT_FOUND' },
    });
  });

  it('has its offset, and gets its job later, while its table changes', async () => {
    const { path } = await lockTableDuring('FOR UPDATE', async (path) => {
      expect((await sendPart(company.as, path, 0, makeCsvBytes(10), { env: createTestQueueEnv() })).status).toBe(423);
      const lockedAnswer = await readOffset(company.as, path, { env: createTestQueueEnv() });
      expect([parseOffset(lockedAnswer), lockedAnswer.headers.get('content-location')]).toEqual([10, null]);
    });
    const answer = await readOffset(company.as, path, { env: createTestQueueEnv() });
    expect(answer.headers.get('content-location')).toContain(parseUploadId(path));
  });

  it('gets its job while another load writes to its table', async () => {
    await lockTableDuring('FOR NO KEY UPDATE', async (path, tableId) => {
      const answer = await sendPart(company.as, path, 0, makeCsvBytes(10), { env: createTestQueueEnv() });
      expect([answer.status, answer.headers.get('content-location')]).toEqual([204, expect.any(String)]);
      await uploadFiles(company, [makeFile('a.csv', 'codigo\n1\n')], { into: tableId, env: createTestQueueEnv() });
    });
  });

  /** Begins an upload of ten bytes into a new table, and uses it while another transaction holds a lock on the table. */
  async function lockTableDuring(lock: string, useUpload: (path: string, tableId: string) => Promise<void>) {
    const tableId = await createTable(company.as, `busy_${lock.length}`, [makeColumn('codigo', 'integer')]);
    const path = await beginUpload(company.as, 10, { metadata: { table_id: tableId } });
    await queryDatabase(company, (database) =>
      database.runInTransaction(async (tx) => {
        await tx.execute(`SELECT FROM console.managed_tables WHERE id = '${tableId}' ${lock}`);
        await useUpload(path, tableId);
      }),
    );
    return { path };
  }
});

describe('an expired resumable upload', () => {
  it('answers 404 before it is swept', async () => {
    const path = await beginUpload(company.as, 10);
    await runSql(
      `UPDATE console.resumable_uploads SET updated_at = now() - interval '25 h' WHERE id = '${parseUploadId(path)}'`,
    );
    expect((await readOffset(company.as, path)).status).toBe(404);
    expect((await sendPart(company.as, path, 0, makeCsvBytes(1))).status).toBe(404);
    expect((await deleteUpload(company.as, path)).status).toBe(404);
  });

  it('is kept when a byte arrives while it is swept', async () => {
    const path = await beginUpload(company.as, 10);
    const row = `console.resumable_uploads SET updated_at = now()`;
    const whereClause = `WHERE id = '${parseUploadId(path)}'`;
    await runSql(`UPDATE ${row} - interval '25 h' ${whereClause}`);
    let pendingSweep: Promise<void> | undefined;
    await queryDatabase(company, (database) =>
      database.runInTransaction(async (tx) => {
        await tx.execute(`UPDATE ${row} + interval '1 h' ${whereClause}`);
        pendingSweep = runSweep(createTestQueue(), 120_000);
        await expect.poll(countLockWaits).toBe(1);
      }),
    );
    await pendingSweep;
    expect((await readOffset(company.as, path)).status).toBe(200);
  });

  const countLockWaits = () =>
    queryDatabase(company, async (database) => {
      const waitCondition = `datname = current_database() AND wait_event_type = 'Lock'`;
      return (await database.query(`SELECT FROM pg_stat_activity WHERE ${waitCondition}`)).length;
    });
});

describe('the permissions for a resumable upload', () => {
  it('are checked at each request', async () => {
    const table_id = await createTable(company.as, 'asked', [makeColumn('codigo', 'integer')]);
    const { bearer: person } = await createPrincipals(company);
    await person.setStatements([makeAllow('managed-tables:upload', 'managed-tables:list')]);
    const path = await beginUpload(person.as, 10, { metadata: { table_id } });
    const job = await beginUpload(person.as, 10);
    expect((await sendPart(person.as, path, 0, makeCsvBytes(4))).status).toBe(204);
    const denyStatement = { effect: 'Deny', actions: ['managed-tables:upload'] } as const;
    const resources = [makeArn(company, 'managed-tables:table', table_id)];
    await person.setStatements([
      makeAllow('managed-tables:*'),
      { ...denyStatement, actions: [...denyStatement.actions], resources },
    ]);
    expect((await readOffset(person.as, path)).status).toBe(403);
    expect((await sendPart(person.as, path, 4, makeCsvBytes(4))).status).toBe(403);
    expect((await deleteUpload(person.as, path)).status).toBe(403);
    expect((await requestUpload(person.as, 10, { metadata: { table_id } })).status).toBe(403);
    expect((await readOffset(person.as, job)).status).toBe(200);
    await person.setStatements([makeAllow('managed-tables:list')]);
    expect((await sendPart(person.as, job, 0, makeCsvBytes(4))).status).toBe(403);
    expect((await requestUpload(person.as, 10)).status).toBe(403);
  });

  it('include more than upload for the modes replace and upsert and for new columns', async () => {
    const table_id = await createTable(company.as, 'changed', [makeColumn('codigo', 'integer')]);
    const person = await createAllowedUser(company, { can: ['managed-tables:upload', 'managed-tables:list'] });
    for (const mode of ['replace', 'upsert']) {
      expect(
        (await requestUpload(person.as, 10, { metadata: { table_id, mode, key: mode === 'upsert' ? 'codigo' : '' } }))
          .status,
      ).toBe(403);
    }
    expect((await requestUpload(person.as, 10, { metadata: { table_id, evolve: 'add' } })).status).toBe(403);
    expect((await requestUpload(person.as, 10, { metadata: { table_id } })).status).toBe(201);
  });
});

it('a company with nineteen unfinished resumable uploads can begin only one more upload when two are begun at once', async () => {
  const other = await createProvisionedCompany();
  for (let count = 0; count < 19; count += 1) await beginUpload(other.as, 10);
  const { outcome } = await runBeforeNextStatement(other.id, /COMMIT/, () => requestUpload(other.as, 10));
  const statuses = [(await requestUpload(other.as, 10)).status, (await outcome).status];
  expect(statuses.toSorted()).toEqual([201, 429]);
});
