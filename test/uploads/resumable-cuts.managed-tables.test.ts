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
import { createRandomChoices, type Random } from '../support/random.ts';
import { aProvisionedCompany, type Company } from '../support/worlds.ts';
import { areEqual, makeCsvBytes, PIECE, readJobBytes, streamSlowly } from './tus.ts';

const COUNT = inject('randomUploads');
const SENDER = 'a'.repeat(24);
/** What everything is sent of. */
const FILE_BYTES = makeCsvBytes(3 * PIECE, 11);

describe('resumable uploads whose client, network, Worker, store and database fail at random', () => {
  let company: Company;
  let database: TenantSql;
  let close: () => Promise<void>;
  beforeAll(async () => {
    company = await aProvisionedCompany();
    const opened = contextOf({});
    close = opened.close;
    database = await requireDatabase(opened.context);
  });
  afterAll(() => close());

  const sql = (text: string, values: unknown[] = []) => database.execute(text, values);

  /** What a killed isolate leaves: its connections are gone, and so is whatever it had not stored. */
  const kill = () =>
    sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    );

  function contextOf(changed: object) {
    const JOBS = { send: async () => {} };
    const bindings = { ...env, JOBS, ...changed } as never;
    const origin = { env: bindings, waitUntil: () => {}, correlationId: '', baseUrl: '', ip: null };
    return openContext(origin, { kind: 'user', id: SENDER, companyId: company.id } as UserActor);
  }

  async function within<T>(changed: object, work: (ctx: PrincipalContext) => Promise<T>): Promise<T> {
    const opened = contextOf(changed);
    try {
      return await work(opened.context);
    } finally {
      await opened.close();
    }
  }

  async function begin(length: number): Promise<string> {
    const at = new Date().toISOString();
    const upload = {
      id: newId(Date.now()),
      companyId: company.id,
      createdByUserId: SENDER,
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
    const limits = { most: 1_000, since: at, at };
    await database.transaction((tx) => uploads.insertUpload(tx, upload, limits));
    return upload.id;
  }

  it(
    'arrive byte for byte',
    async () => {
      const seed = inject('seed');
      const failed: string[] = [];
      for (let number = 0; number < COUNT; number += 1) {
        const random = createRandomChoices(seed + number);
        const length =
          1 +
          (random.chance(0.94)
            ? random.upTo(200_000)
            : random.of([PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 7]) - 1);
        const from = random.upTo(FILE_BYTES.length - length);
        const bytes = FILE_BYTES.subarray(from, from + length);
        const id = await begin(length);
        await uploadAll(id, bytes, random);
        if (!areEqual(await readJobBytes(company, id), bytes)) failed.push(`seed ${seed + number}, ${length} bytes`);
        // What is left is what the job needs.
        const { objects } = await env.FILES.list({ prefix: `uploads/${company.id}/${id}/` });
        await env.FILES.delete(objects.map(({ key }) => key));
      }
      expect(failed).toEqual([]);
    },
    60_000 + COUNT * 5_000,
  );

  /** Sends what is missing until all is there, as a client does that asks where to go on. */
  async function uploadAll(id: string, bytes: Uint8Array, random: Random): Promise<void> {
    const late: (() => Promise<unknown>)[] = [];
    for (let tries = 0; tries < 100; tries += 1) {
      const key = { id, companyId: company.id, createdByUserId: SENDER };
      const { received, isFinished } = (await uploads.readUpload(database, key)) as uploads.ResumableUpload;
      if (isFinished) {
        // What was put late lies elsewhere.
        for (const put of late) await put();
        return;
      }
      // A client that gives up trouble sooner or later gets through.
      const trouble =
        tries < 4
          ? random.of(['none', 'none', 'cut', 'cut', 'store', 'late', 'kill', 'killed early', 'two'] as const)
          : 'none';
      await attempt(id, bytes, received, trouble, random, late);
      if (random.chance(0.5))
        await sql('UPDATE console.resumable_uploads SET writer_until = now() WHERE id = $1', [id]);
      if (late.length > 0 && random.chance(0.5)) await late.shift()?.();
    }
    throw new Error(`The upload ${id} does not end.`);
  }

  async function attempt(
    id: string,
    all: Uint8Array,
    offset: number,
    trouble: 'none' | 'cut' | 'store' | 'late' | 'kill' | 'killed early' | 'two',
    random: Random,
    late: (() => Promise<unknown>)[],
  ): Promise<void> {
    const left = all.length - offset;
    const end = random.chance(0.5) ? all.length : offset + random.upTo(left);
    const part = all.subarray(offset, end);
    const chunk = 1 + random.upTo(random.chance(0.5) ? 100_000 : PIECE) + (part.length >> 6);
    const cutAfter = trouble === 'cut' ? random.upTo(part.length) : undefined;
    const troubledAt = random.upTo(part.length);
    let isKilled = false;
    const body = () =>
      streamSlowly(part, {
        chunk,
        ...(cutAfter !== undefined && { cutAfter }),
        before: async (at) => {
          if (trouble !== 'killed early' || isKilled || at < troubledAt) return;
          isKilled = true;
          await kill();
        },
      });
    const troubledPut = random.upTo(2);
    let puts = 0;
    const FILES = {
      get: (key: string) => env.FILES.get(key),
      delete: (keys: string[]) => env.FILES.delete(keys),
      list: (options: R2ListOptions) => env.FILES.list(options),
      async put(key: string, bytes: Uint8Array) {
        const isTroubled = puts++ === troubledPut;
        const own = bytes.slice();
        const put = () => env.FILES.put(key, own);
        if (isTroubled && trouble === 'late') late.push(put);
        if (isTroubled && trouble === 'kill') {
          if (random.chance(0.5)) await put();
          await kill();
        }
        if (isTroubled && ['store', 'late', 'kill'].includes(trouble)) throw new Error(`the trouble is ${trouble}`);
        return put();
      },
    };
    const isSummed = random.chance(0.2);
    const summed = random.chance(0.3) ? all.subarray(0, 1) : part;
    const value = isSummed ? createHash('sha1').update(summed).digest('base64') : '';
    const checksum = isSummed ? { algorithm: 'SHA-1' as const, value } : undefined;
    const announced = random.chance(0.5) ? part.length : 0;
    const ask = () =>
      within({ FILES }, (ctx) => appendBytes(ctx, id, { offset, bytes: body(), announced, checksum })).catch(
        (error) => {
          if (!(error instanceof Failure)) throw error;
        },
      );
    await Promise.all(trouble === 'two' ? [ask(), ask()] : [ask()]);
  }
});
