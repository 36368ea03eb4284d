import { env } from 'cloudflare:test';
import { describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { settleLog } from '../company-log/support.ts';
import { createConcept } from '../knowledge/support.ts';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { createSalesDashboard, createShare, createShareClient } from '../shares/support.ts';
import { callApi } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { type Company, createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { countRows, createRacingEnv, runSql, selectRow, sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { deliverMessage, queryDatabase } from '../uploads/support.ts';
import { createSalesTable } from '../visualizations/support.ts';
import {
  createExportQueue,
  deliverUntilEmpty,
  download,
  downloadArchive,
  EXPORTS_PATH,
  exportOneFile,
  formatExportsPath,
  getExport,
  listExportObjects,
  operator,
  readPosition,
  startExport,
} from './support.ts';

const HOUR_MS = 3_600_000;
const ORGANIZATIONS_PATH = '/admin/organizations';
const setStatus = ({ id }: Company, status: string) =>
  expectSuccess(operator.patch(`${ORGANIZATIONS_PATH}/${id}`, { json: { status } }));

const company = await createProvisionedCompany();
await createSalesTable(company);

/** Creates a company with a table of so many rows that its export needs several files within the limits of `SMALL_FILE_LIMITS`. */
async function createLargeTable(rows = 45_000) {
  const owner = await createProvisionedCompany();
  const id = await createTable(owner.as, 'large', [
    makeColumn('n', 'integer'),
    makeColumn('price', 'decimal'),
    makeColumn('text'),
  ]);
  await queryDatabase(owner, (database) =>
    database.execute(
      `INSERT INTO public.large (n, price, text) SELECT n, n / 4.0, repeat('x', 90) || n FROM generate_series(1, ${rows}) AS n`,
    ),
  );
  return { owner, id };
}
const SMALL_FILE_LIMITS = { fileBytes: 10_000 };

/** Runs export turns of one file each until `holdsAt` returns true or the export ends. @returns the number of turns */
async function runTurnsUntil(owner: Company, id: string, holdsAt: (position: string) => boolean): Promise<number> {
  for (let turnCount = 1; ; turnCount += 1) {
    await exportOneFile(owner, id, SMALL_FILE_LIMITS);
    const { status } = await getExport(owner, id);
    if (status !== 'running' || holdsAt(await readPosition(owner, id))) return turnCount;
  }
}

/** Runs one export turn that writes everything but the last records and what follows them. */
const runLongTurn = (owner: Company, id: string) => exportOneFile(owner, id, { milliseconds: 1e9, queries: 45 });

/** Returns the queue messages about one export: the scheduled run also sends messages about other exports. */
const listExportMessages = ({ messages }: ReturnType<typeof createExportQueue>, id: string): JobMessage[] =>
  messages.filter((message) => message.type === 'company.export' && message.exportId === id);

/** Returns the numbers in all files of a table. */
async function readNumbers(archive: Awaited<ReturnType<typeof downloadArchive>>, folder: string): Promise<unknown[]> {
  const paths = archive.manifest.files.map(({ path }) => path).filter((path) => path.startsWith(`${folder}/0`));
  const rows = await Promise.all(paths.map((path) => archive.readRows(path)));
  return rows.flat().map(([, n]) => Number(n));
}
const countUpTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe('an export of a company', () => {
  it('is one zip archive of all data of the company', async () => {
    const { dashboard } = await createSalesDashboard(company);
    const { token } = await createShare(company, dashboard._id);
    expect((await createShareClient(token).resolve()).status).toBe(200);
    await createConcept(company.as);
    const { id, queue } = await startExport(company);
    expect(await getExport(company, id)).toEqual({
      export_id: id,
      status: 'queued',
      bytes: null,
      url: null,
      expires_at: null,
      error: null,
    });
    await deliverUntilEmpty(queue);
    const finishedExport = await getExport(company, id);
    expect(finishedExport).toMatchObject({ status: 'succeeded', error: null, expires_at: expect.stringMatching(/Z$/) });
    const archive = await downloadArchive(finishedExport.url);
    expect(archive.bytes.length).toBe(finishedExport.bytes);
    expect(archive.manifest).toMatchObject({
      format: 'data-console-export/1',
      organization: { id: company.id, slug: company.slug },
      left_out: [],
    });
    const rows = Object.fromEntries(archive.manifest.files.map(({ path, rows }) => [path, rows]));
    const salesRowCount = (await archive.readRows('tables/sales/0001.parquet')).length;
    expect(rows).toMatchObject({
      'records/companies.ndjson': 1,
      'records/users.ndjson': 1,
      'records/dashboards.ndjson': 1,
      'records/dashboard_shares.ndjson': 1,
      'records/managed_tables.ndjson': 1,
      'tables/sales/schema.json': null,
      'tables/sales/0001.parquet': salesRowCount,
      'knowledge.ossie.yaml': null,
    });
    expect(salesRowCount).toBeGreaterThan(2);
    expect(archive.readRecords('records/companies.ndjson')).toEqual([
      expect.objectContaining({ id: company.id, branding: {}, require_2fa: false, suspended_at: null }),
    ]);
    expect(JSON.parse(archive.readText('tables/sales/schema.json'))).toMatchObject({
      name: 'sales',
      columns: expect.arrayContaining([expect.objectContaining({ name: 'amount', type: 'decimal' })]),
    });
    const routes = archive.readRecords('audit-events.ndjson').map(({ route }) => route);
    expect(routes).toContain('/v1/managed-tables');
    const events = archive.readRecords('share-events.ndjson').map(({ type }) => type);
    expect(events).toEqual(expect.arrayContaining(['share.created', 'share.resolved']));
    expect(archive.readText('knowledge.ossie.yaml')).toMatch(/^version: /);
    // What it was made of is gone.
    expect(await listExportObjects(company)).toEqual([`company-exports/${company.id}/${id}/archive.zip`]);
  });

  it('is made by the queue, and can be downloaded by its link without a session', async () => {
    const owner = await createOwnedCompany();
    const { status, body } = await owner.as.post(EXPORTS_PATH);
    expect([status, body]).toEqual([202, { export_id: expect.any(String), status: 'queued' }]);
    await expect
      .poll(async () => (await getExport(owner, body.export_id)).status, { timeout: 60_000, interval: 200 })
      .toBe('succeeded');
    const { url, bytes } = await getExport(owner, body.export_id);
    const { headers, bytes: downloadedBytes } = await download(url);
    expect(downloadedBytes.length).toBe(bytes);
    const day = new Date().toISOString().slice(0, 10);
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'application/zip',
      expect.stringContaining(`filename="${owner.slug}-${day}.zip"`),
    ]);
  });

  it('has the logo, and no tables when the company has no database', async () => {
    const owner = await createOwnedCompany();
    const png = Uint8Array.fromBase64(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    );
    await expectSuccess(
      owner.as.put('/v1/company/branding/logo', { body: png, headers: { 'content-type': 'image/png' } }),
    );
    const { id, queue } = await startExport(owner);
    await deliverUntilEmpty(queue);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(archive.files.get('logo.png')?.subarray(1, 4)).toEqual(new TextEncoder().encode('PNG'));
    expect(archive.readRecords('records/managed_tables.ndjson')).toEqual([]);
    expect([...archive.files.keys()].filter((path) => path.startsWith('tables/'))).toEqual([]);
  });

  it('says that knowledge of more than 8 MiB is only in the records', async () => {
    const owner = await createOwnedCompany();
    for (let count = 0; count < 5; count += 1) await createConcept(owner.as, { status: 'active' });
    await runSql(
      `update knowledge_resources set content = json_set(content, '$.description', hex(zeroblob(900000)))
       where company_id = ?`,
      owner.id,
    );
    const { id, queue } = await startExport(owner);
    await deliverUntilEmpty(queue);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(archive.manifest.left_out).toEqual([
      {
        path: 'knowledge.ossie.yaml',
        reason: 'It would have more than 8 MiB. All knowledge is in records/knowledge_resources.ndjson.',
      },
    ]);
    expect(archive.readRecords('records/knowledge_resources.ndjson')).toHaveLength(5);
  });

  it('has the records of archived log days, each once, in several files', async () => {
    const owner = await createOwnedCompany();
    const log = env.COMPANY_LOG.getByName(owner.id);
    const record = (n: number, daysAgo: number) => ({
      id: n.toString(16).padStart(24, '0'),
      correlationId: `c-${n}`,
      occurredAt: Date.now() - daysAgo * 24 * HOUR_MS - n,
      principalType: 'user',
      principalId: owner.owner.id,
      credential: null,
      method: 'GET',
      route: '/planted',
      action: null,
      resourceId: null,
      status: 200,
      ip: null,
      durationMs: 1,
      count: 1,
    });
    await log.append(owner.id, 'audit', countUpTo(1_500).map((n) => record(n, n % 2 === 0 ? 0 : 200)) as never);
    await settleLog(owner.id);
    const { id } = await startExport(owner);
    await runLongTurn(owner, id);
    await runTurnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    const paths = archive.manifest.files.map(({ path }) => path).filter((path) => path.startsWith('audit-events'));
    expect(paths.length).toBeGreaterThan(2);
    const archivedRecords = paths
      .flatMap((path) => archive.readRecords(path))
      .filter(({ route }) => route === '/planted');
    expect(archivedRecords.map(({ correlation_id }) => correlation_id).toSorted()).toEqual(
      countUpTo(1_500)
        .map((n) => `c-${n}`)
        .toSorted(),
    );
  });
});

describe('a request to export a company', () => {
  it('is not found under another id, or by another company', async () => {
    const { id } = await startExport(company);
    const other = await createOwnedCompany();
    expect((await operator.get(`${formatExportsPath(other)}/${id}`)).status).toBe(404);
    expect((await operator.get(`${formatExportsPath(company)}/${id}`)).body).toMatchObject({ export_id: id });
    for (const wrongId of ['none', 'f'.repeat(24)]) {
      expect((await company.as.get(`${EXPORTS_PATH}/${wrongId}`)).status).toBe(404);
      expect((await operator.get(`${formatExportsPath(company)}/${wrongId}`)).status).toBe(404);
      expect((await operator.post(formatExportsPath({ id: wrongId }))).status).toBe(404);
      expect((await operator.get(`${formatExportsPath({ id: wrongId })}/${id}`)).status).toBe(404);
    }
    await exportOneFile(company, id).catch(() => undefined);
  });

  it('returns the running export, whoever requested it', async () => {
    const owner = await createOwnedCompany();
    const first = await startExport(owner);
    const repeatedAnswer = await expectSuccess(owner.as.post(EXPORTS_PATH, { env: first.queue.env }));
    const operatorAnswer = await expectSuccess(operator.post(formatExportsPath(owner), { env: first.queue.env }));
    expect([repeatedAnswer, operatorAnswer]).toEqual([
      { export_id: first.id, status: 'queued' },
      { export_id: first.id, status: 'queued' },
    ]);
    await deliverUntilEmpty(first.queue);
    const nextExport = await expectSuccess(owner.as.post(EXPORTS_PATH, { env: createExportQueue().env }));
    expect(nextExport.export_id).not.toBe(first.id);
  });

  it('returns the export that another user requests at the same moment', async () => {
    const owner = await createOwnedCompany();
    const queue = createExportQueue();
    let concurrentExport: { export_id: string } | undefined;
    const { body } = await sendDuringRace(
      /insert into "company_exports"/,
      async () => {
        concurrentExport = await expectSuccess(operator.post(formatExportsPath(owner), { env: queue.env }));
      },
      (racingEnv) => owner.as.post(EXPORTS_PATH, { env: { ...queue.env, ...racingEnv } }),
    );
    expect(body.export_id).toBe(concurrentExport?.export_id);
    expect(await countRows('company_exports where company_id = ?', owner.id)).toBe(1);
  });
});

describe('an export of a suspended company', () => {
  it('waits if its owner requested it, and continues once the company is active', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    await exportOneFile(owner, id);
    await setStatus(owner, 'suspended');
    const positionBefore = await readPosition(owner, id);
    expect(await deliverMessage(queue.messages[0] as JobMessage, queue.env)).toBe('done');
    advanceClock(9 * 60_000);
    await runScheduled(queue.env);
    expect(listExportMessages(queue, id)).toHaveLength(1);
    expect(await readPosition(owner, id)).toBe(positionBefore);
    expect((await owner.as.get(`${EXPORTS_PATH}/${id}`)).status).toBe(403);
    resetClock();
    queue.messages.length = 0;
    await setStatus(owner, 'active');
    await runScheduled(queue.env);
    const [message] = listExportMessages(queue, id);
    expect(message).toMatchObject({ type: 'company.export', companyId: owner.id });
    await deliverMessage(message as JobMessage, queue.env);
    expect(await getExport(owner, id)).toMatchObject({ status: 'succeeded' });
  });

  it("is made for the operator, who can take over a waiting export, and only the operator's link works", async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    await setStatus(owner, 'suspended');
    await deliverUntilEmpty(queue);
    expect(await expectSuccess(operator.post(formatExportsPath(owner), { env: queue.env }))).toMatchObject({
      export_id: id,
    });
    await deliverUntilEmpty(queue);
    const { url } = await expectSuccess(operator.get(`${formatExportsPath(owner)}/${id}`));
    expect((await downloadArchive(url)).readRecords('records/companies.ndjson')[0]?.suspended_at).toMatch(/Z$/);
    await setStatus(owner, 'active');
    const { url: ownerLink } = await getExport(owner, id);
    expect((await download(ownerLink)).status).toBe(200);
    await setStatus(owner, 'suspended');
    const refusedDownload = await download(ownerLink);
    expect([refusedDownload.status, refusedDownload.body.details]).toEqual([403, { reason: 'company_suspended' }]);
    expect((await download(url)).status).toBe(200);
    expect((await owner.as.post(EXPORTS_PATH)).status).toBe(403);
  });
});

describe('an export of a company that is interrupted', () => {
  it('continues after any file, and has each row once', async () => {
    const { owner } = await createLargeTable();
    const { id, queue } = await startExport(owner);
    const turnCount = await runTurnsUntil(owner, id, () => false);
    expect(turnCount).toBeGreaterThan(50);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await readNumbers(archive, 'tables/large')).toEqual(countUpTo(45_000));
    expect(archive.files.has('tables/large/0003.parquet')).toBe(true);
    // Late messages do nothing.
    expect(await deliverMessage(queue.messages[0] as JobMessage, queue.env)).toBe('done');
    expect(queue.messages).toHaveLength(1);
  });

  it('continues from its last saved position when it is killed at any write', async () => {
    const { owner } = await createLargeTable(300);
    const { id } = await startExport(owner);
    // What R2 is asked for last fails, at each place in turn.
    let isDone = false;
    for (let failingCall = 1; !isDone; failingCall += 1) {
      let callCount = 0;
      const createDyingBucket = (bucket: R2Bucket): R2Bucket =>
        new Proxy(bucket, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return (...callArguments: unknown[]) => {
              if (name === 'resumeMultipartUpload') return uploadPart(value.apply(target, callArguments));
              callCount += 1;
              if (callCount === failingCall) throw new Error('killed');
              return value.apply(target, callArguments);
            };
          },
        });
      const uploadPart = (upload: R2MultipartUpload) =>
        new Proxy(upload, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return async (...callArguments: unknown[]) => {
              callCount += 1;
              const isKilled = callCount === failingCall;
              // What was asked for may be done all the same.
              const result = await value.apply(target, callArguments);
              if (isKilled) throw new Error('killed');
              return result;
            };
          },
        });
      const message = { type: 'company.export', companyId: owner.id, exportId: id } as const;
      await runSql('update company_exports set tries = 0 where id = ?', id);
      await deliverMessage(message, { FILES: createDyingBucket(env.FILES) });
      isDone = (await getExport(owner, id)).status === 'succeeded';
      expect(failingCall).toBeLessThan(40);
    }
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await readNumbers(archive, 'tables/large')).toEqual(countUpTo(300));
  });

  it('is complete even if only the record of its success was lost', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    const [message] = queue.messages as [JobMessage];
    const { env: racingEnv } = createRacingEnv(/update "company_exports" set "status" = \?, "bytes"/, async () => {
      throw new Error('killed');
    });
    expect(await deliverMessage(message, { ...queue.env, ...racingEnv })).toBe('again');
    expect(await getExport(owner, id)).toMatchObject({ status: 'queued', bytes: null });
    expect(await deliverMessage(message, queue.env)).toBe('done');
    const { status, bytes, url } = await getExport(owner, id);
    expect([status, (await downloadArchive(url)).bytes.length]).toEqual(['succeeded', bytes]);
  });

  it('stays complete when its temporary objects cannot be deleted', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    const FILES = new Proxy(env.FILES, {
      get(target, name) {
        if (name === 'list') return () => Promise.reject(new Error('away'));
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    expect(await deliverMessage(queue.messages[0] as JobMessage, { ...queue.env, FILES })).toBe('again');
    const { status, url } = await getExport(owner, id);
    expect(status).toBe('succeeded');
    await downloadArchive(url);
  });

  it('is processed by only one queue delivery at a time', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    const [message] = queue.messages as [JobMessage];
    let concurrentResult: string | undefined;
    await sendDuringRace(
      /from "groups"/,
      async () => {
        // Not even its last try is over.
        await runSql('update company_exports set tries = 8 where id = ?', id);
        concurrentResult = await deliverMessage(message, queue.env);
        expect(await selectRow('select turn from company_exports where id = ?', id)).toEqual({ turn: 1 });
      },
      (racingEnv) => deliverMessage(message, { ...queue.env, ...racingEnv }),
    );
    expect([concurrentResult, (await getExport(owner, id)).status]).toEqual(['done', 'succeeded']);
  });

  it('is no longer written by a delivery that a later delivery has replaced', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    const [message] = queue.messages as [JobMessage];
    await sendDuringRace(
      /from "groups"/,
      async () => {
        // The first is taken for dead.
        await runSql('update company_exports set due_at = 0 where id = ?', id);
        await exportOneFile(owner, id);
      },
      (racingEnv) => deliverMessage(message, { ...queue.env, ...racingEnv }),
    );
    expect(await getExport(owner, id)).toMatchObject({ status: 'running', bytes: null });
    expect(await selectRow('select turn from company_exports where id = ?', id)).toEqual({ turn: 2 });
    await deliverMessage(message, queue.env);
    await downloadArchive((await getExport(owner, id)).url);
  });

  it('is completed by a delivery that has replaced another one just before that records its success', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    const [message] = queue.messages as [JobMessage];
    const [laterRead, earlierEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const FILES = new Proxy(env.FILES, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name !== 'get') return typeof value === 'function' ? value.bind(target) : value;
        return async (...callArguments: unknown[]) => {
          laterRead.resolve();
          await earlierEnd.promise;
          return value.apply(target, callArguments);
        };
      },
    });
    let laterDelivery: ReturnType<typeof deliverMessage> | undefined;
    await sendDuringRace(
      /update "company_exports" set "status" = \?, "bytes"/,
      async () => {
        // The first is taken for dead.
        await runSql('update company_exports set due_at = 0 where id = ?', id);
        laterDelivery = deliverMessage(message, { ...queue.env, FILES });
        await laterRead.promise;
      },
      (racingEnv) => deliverMessage(message, { ...queue.env, ...racingEnv }),
    );
    earlierEnd.resolve();
    expect(await laterDelivery).toBe('done');
    const { status, bytes, url } = await getExport(owner, id);
    expect([status, (await downloadArchive(url)).bytes.length]).toEqual(['succeeded', bytes]);
  });

  it('is resumed by the scheduled run, and fails after too many attempts without leaving objects', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    queue.messages.length = 0;
    await runScheduled(queue.env);
    expect(listExportMessages(queue, id)).toEqual([]);
    advanceClock(121_000);
    await runScheduled(queue.env);
    const [message] = listExportMessages(queue, id) as [JobMessage];
    expect(message).toMatchObject({ companyId: owner.id });
    await exportOneFile(owner, id);
    const brokenEnv = { ...queue.env, CONTROL_DB: env.CONTROL_DB, FILES: { get: async () => null } };
    for (let tryCount = 0; tryCount < 8; tryCount += 1) {
      expect(await deliverMessage(message, brokenEnv)).toBe('again');
    }
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await getExport(owner, id)).toMatchObject({
      status: 'failed',
      error: 'The export was interrupted too often.',
      url: null,
    });
    expect(await listExportObjects(owner)).toEqual([]);
  });
});

describe('a table that is changed during an export of its company', () => {
  const isInLargeTable = (position: string) => position.includes('"within"');

  it('is left out of the archive when it is deleted', async () => {
    const { owner, id: table } = await createLargeTable();
    await createTable(owner.as, 'later', [makeColumn('n', 'integer')]);
    const { id } = await startExport(owner);
    await runLongTurn(owner, id);
    await runTurnsUntil(owner, id, isInLargeTable);
    await expectSuccess(owner.as.delete(`/v1/managed-tables/${table}`));
    await runTurnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect([...archive.files.keys()].filter((path) => path.startsWith('tables/')).toSorted()).toEqual([
      'tables/later/0001.parquet',
      'tables/later/schema.json',
    ]);
  });

  it('is written again when its values need another column type', async () => {
    const { owner } = await createLargeTable();
    const { id } = await startExport(owner);
    await runLongTurn(owner, id);
    await runTurnsUntil(owner, id, isInLargeTable);
    await queryDatabase(owner, (database) =>
      database.execute('UPDATE public.large SET price = 0.123456 WHERE n = 45000'),
    );
    await runTurnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await readNumbers(archive, 'tables/large')).toEqual(countUpTo(45_000));
    const lastPath = archive.manifest.files
      .map(({ path }) => path)
      .findLast((path) => path.includes('large/0')) as string;
    expect((await archive.readRows(lastPath)).at(-1)?.[2]).toBe(0.123456);
  });

  it('fails the export when its column types change again and again', async () => {
    const { owner } = await createLargeTable();
    const { id } = await startExport(owner);
    await runLongTurn(owner, id);
    for (let scale = 3; scale < 12 && (await getExport(owner, id)).status !== 'failed'; scale += 1) {
      await runTurnsUntil(owner, id, isInLargeTable);
      await queryDatabase(owner, (database) =>
        database.execute(`UPDATE public.large SET price = 1 + 10::numeric ^ -${scale} WHERE n = 45000`),
      );
      await exportOneFile(owner, id, SMALL_FILE_LIMITS);
    }
    expect(await getExport(owner, id)).toMatchObject({
      status: 'failed',
      error: 'The table large was changed again and again while it was read.',
    });
    expect(await listExportObjects(owner)).toEqual([]);
  });
});

describe('the archive of a company export', () => {
  it('is kept for a day, like its link', async () => {
    const owner = await createOwnedCompany();
    const { id, queue } = await startExport(owner);
    await deliverUntilEmpty(queue);
    const { url, expires_at } = await getExport(owner, id);
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(23.9 * HOUR_MS);
    advanceClock(23.5 * HOUR_MS);
    await runScheduled(queue.env);
    expect((await download(url)).status).toBe(200);
    expect(listExportMessages(queue, id)).toEqual([]);
    advanceClock(24.1 * HOUR_MS);
    expect((await download(url)).status).toBe(401);
    expect((await operator.get(`${formatExportsPath(owner)}/${id}`)).status).toBe(404);
    await runScheduled(queue.env);
    expect(await listExportObjects(owner)).toEqual([]);
    expect(await countRows('company_exports where id = ?', id)).toBe(0);
  });

  it('is refused with any other token', async () => {
    expect((await callApi('GET', '/data/archives/none')).status).toBe(401);
    expect((await callApi('GET', `/data/archives/${company.token}`)).status).toBe(401);
  });
});
