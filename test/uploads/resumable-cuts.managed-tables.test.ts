import { env } from 'cloudflare:test';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { openContext, type PrincipalContext } from '../../src/context.ts';
import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import { requireDatabase } from '../../src/modules/managed-database/service.ts';
import { appendBytes } from '../../src/modules/uploads/resumable.ts';
import * as uploads from '../../src/modules/uploads/resumable-store.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import { type Company, createProvisionedCompany } from '../support/companies.ts';
import { createRandomChoices, type RandomChoices } from '../support/random.ts';
import { areEqual, makeCsvBytes, PIECE_BYTES, readJobBytes, streamSlowly } from './tus.ts';

const UPLOAD_COUNT = inject('randomUploads');
const SENDER_ID = 'a'.repeat(24);
/** The bytes from which all uploads are sent. */
const FILE_BYTES = makeCsvBytes(3 * PIECE_BYTES, 11);

describe('resumable uploads whose client, network, Worker, store and database fail at random', () => {
  let company: Company;
  let database: TenantSql;
  let close: () => Promise<void>;
  beforeAll(async () => {
    company = await createProvisionedCompany();
    const createdContext = createContext({});
    close = createdContext.close;
    database = await requireDatabase(createdContext.context);
  });
  afterAll(() => close());

  const executeSql = (text: string, values: unknown[] = []) => database.execute(text, values);

  /** Does what the kill of an isolate does: its connections are closed, and everything it had not stored is lost. */
  const killIsolate = () =>
    executeSql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );

  function createContext(changedEnv: object) {
    const JOBS = { send: async () => {} };
    const bindings = { ...env, JOBS, ...changedEnv } as never;
    const origin = { env: bindings, waitUntil: () => {}, correlationId: '', baseUrl: '', ip: null };
    return openContext(origin, { kind: 'user', id: SENDER_ID, companyId: company.id } as UserActor);
  }

  async function runInChangedContext<T>(changedEnv: object, work: (ctx: PrincipalContext) => Promise<T>): Promise<T> {
    const createdContext = createContext(changedEnv);
    try {
      return await work(createdContext.context);
    } finally {
      await createdContext.close();
    }
  }

  async function beginUpload(length: number): Promise<string> {
    const at = new Date().toISOString();
    const upload = {
      id: newId(Date.now()),
      companyId: company.id,
      createdByUserId: SENDER_ID,
      fileName: 'a.csv',
      mimeType: 'text/csv',
      userTableId: null,
      mode: 'create' as const,
      evolve: 'none' as const,
      key: null,
      metadata: '',
      length,
      pieces: [],
    };
    const limits = { maxUploads: 1_000, since: at, at };
    await database.runInTransaction((tx) => uploads.insertUpload(tx, upload, limits));
    return upload.id;
  }

  it(
    'arrive byte for byte',
    async () => {
      const seed = inject('seed');
      const failedSeeds: string[] = [];
      for (let uploadNumber = 0; uploadNumber < UPLOAD_COUNT; uploadNumber += 1) {
        const random = createRandomChoices(seed + uploadNumber);
        const length =
          1 +
          (random.chance(0.94)
            ? random.upTo(200_000)
            : random.of([PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 2 * PIECE_BYTES + 7]) - 1);
        const from = random.upTo(FILE_BYTES.length - length);
        const bytes = FILE_BYTES.subarray(from, from + length);
        const id = await beginUpload(length);
        await uploadAll(id, bytes, random);
        if (!areEqual(await readJobBytes(company, id), bytes))
          failedSeeds.push(`seed ${seed + uploadNumber}, ${length} bytes`);
        // What is left is what the job needs.
        const { objects } = await env.FILES.list({ prefix: `uploads/${company.id}/${id}/` });
        await env.FILES.delete(objects.map(({ key }) => key));
      }
      expect(failedSeeds).toEqual([]);
    },
    60_000 + UPLOAD_COUNT * 5_000,
  );

  /** Sends missing bytes until all have arrived, as a client does that asks for the offset each time. */
  async function uploadAll(id: string, bytes: Uint8Array, random: RandomChoices): Promise<void> {
    const latePuts: (() => Promise<unknown>)[] = [];
    for (let attemptNumber = 0; attemptNumber < 100; attemptNumber += 1) {
      const key = { id, companyId: company.id, createdByUserId: SENDER_ID };
      const { received, isFinished } = (await uploads.readUpload(database, key)) as uploads.ResumableUpload;
      if (isFinished) {
        // What was put late lies elsewhere.
        for (const put of latePuts) await put();
        return;
      }
      // A client that gives up trouble sooner or later gets through.
      const failureKind =
        attemptNumber < 4
          ? random.of(['none', 'none', 'cut', 'cut', 'store', 'late', 'kill', 'killed early', 'two'] as const)
          : 'none';
      await attemptUpload(id, bytes, received, failureKind, random, latePuts);
      if (random.chance(0.5))
        await executeSql('UPDATE console.resumable_uploads SET writer_until = now() WHERE id = $1', [id]);
      if (latePuts.length > 0 && random.chance(0.5)) await latePuts.shift()?.();
    }
    throw new Error(`The upload ${id} does not end.`);
  }

  async function attemptUpload(
    id: string,
    allBytes: Uint8Array,
    offset: number,
    failureKind: 'none' | 'cut' | 'store' | 'late' | 'kill' | 'killed early' | 'two',
    random: RandomChoices,
    latePuts: (() => Promise<unknown>)[],
  ): Promise<void> {
    const remainingLength = allBytes.length - offset;
    const end = random.chance(0.5) ? allBytes.length : offset + random.upTo(remainingLength);
    const slice = allBytes.subarray(offset, end);
    const chunk = 1 + random.upTo(random.chance(0.5) ? 100_000 : PIECE_BYTES) + (slice.length >> 6);
    const cutOffset = failureKind === 'cut' ? random.upTo(slice.length) : undefined;
    const failureOffset = random.upTo(slice.length);
    let isKilled = false;
    const makeBody = () =>
      streamSlowly(slice, {
        chunkSize: chunk,
        ...(cutOffset !== undefined && { cutOffset }),
        beforeChunk: async (at) => {
          if (failureKind !== 'killed early' || isKilled || at < failureOffset) return;
          isKilled = true;
          await killIsolate();
        },
      });
    const failingPutIndex = random.upTo(2);
    let putCount = 0;
    const FILES = {
      get: (key: string) => env.FILES.get(key),
      delete: (keys: string[]) => env.FILES.delete(keys),
      list: (options: R2ListOptions) => env.FILES.list(options),
      async put(key: string, bytes: Uint8Array) {
        const isFailingPut = putCount++ === failingPutIndex;
        const ownBytes = bytes.slice();
        const storeBytes = () => env.FILES.put(key, ownBytes);
        if (isFailingPut && failureKind === 'late') latePuts.push(storeBytes);
        if (isFailingPut && failureKind === 'kill') {
          if (random.chance(0.5)) await storeBytes();
          await killIsolate();
        }
        if (isFailingPut && ['store', 'late', 'kill'].includes(failureKind))
          throw new Error(`the trouble is ${failureKind}`);
        return storeBytes();
      },
    };
    const hasChecksum = random.chance(0.2);
    const summedBytes = random.chance(0.3) ? allBytes.subarray(0, 1) : slice;
    const value = hasChecksum ? createHash('sha1').update(summedBytes).digest('base64') : '';
    const checksum = hasChecksum ? { algorithm: 'SHA-1' as const, value } : undefined;
    const announcedLength = random.chance(0.5) ? slice.length : 0;
    const sendAppend = () =>
      runInChangedContext({ FILES }, (ctx) =>
        appendBytes(ctx, id, { offset, bytes: makeBody(), announcedBytes: announcedLength, checksum }),
      ).catch((error) => {
        if (!(error instanceof Failure)) throw error;
      });
    await Promise.all(failureKind === 'two' ? [sendAppend(), sendAppend()] : [sendAppend()]);
  }
});
