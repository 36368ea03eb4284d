import { env } from 'cloudflare:test';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { settleLog } from '../company-log/support.ts';
import { createConcept } from '../knowledge/support.ts';
import { column, createTable } from '../managed-tables/support.ts';
import { aSalesDashboard, aShare, linkOf } from '../shares/support.ts';
import { call } from '../support/api.ts';
import { advanceClock, resetClock, runScheduled } from '../support/clock.ts';
import { countRows, createRivalEnv, selectRow, sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, aProvisionedCompany, type Company } from '../support/worlds.ts';
import { deliverMessage, queryDatabase } from '../uploads/support.ts';
import { someSales } from '../visualizations/support.ts';
import {
  aQueue,
  aStarted,
  download,
  downloadArchive,
  EXPORTS_PATH,
  finish,
  getExport,
  objectsOf,
  oneFile,
  operator,
  pathOf,
  positionOf,
} from './support.ts';

const HOUR = 3_600_000;
const ORGANIZATIONS_PATH = '/admin/organizations';
const setStatus = ({ id }: Company, status: string) =>
  must(operator.patch(`${ORGANIZATIONS_PATH}/${id}`, { json: { status } }));

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
  await someSales(company);
});
afterEach(resetClock);

/** A company with a table of so many rows that one file of an export does not take them, where it takes `SMALL`. */
async function aLargeTable(rows = 45_000) {
  const owner = await aProvisionedCompany();
  const id = await createTable(owner.as, 'large', [column('n', 'integer'), column('price', 'decimal'), column('text')]);
  await queryDatabase(owner, (database) =>
    database.execute(
      `INSERT INTO public.large (n, price, text) SELECT n, n / 4.0, repeat('x', 90) || n FROM generate_series(1, ${rows}) AS n`,
    ),
  );
  return { owner, id };
}
const SMALL = { fileBytes: 10_000 };

/** Turns of one file each, until `until` holds or the export has ended. */
async function turnsUntil(owner: Company, id: string, until: (position: string) => boolean): Promise<number> {
  for (let turns = 1; ; turns += 1) {
    await oneFile(owner, id, SMALL);
    const { status } = await getExport(owner, id);
    if (status !== 'running' || until(await positionOf(owner, id))) return turns;
  }
}

/** One turn that leaves but the last records and what comes after them. */
const MAX_RECORDS = (owner: Company, id: string) => oneFile(owner, id, { milliseconds: 1e9, queries: 45 });

/** The messages about an export: the scheduled run sends those of others, too. */
const messagesOf = ({ messages }: ReturnType<typeof aQueue>, id: string): JobMessage[] =>
  messages.filter((message) => message.type === 'company.export' && message.exportId === id);

/** The numbers of all files of a table. */
async function numbersIn(archive: Awaited<ReturnType<typeof downloadArchive>>, folder: string): Promise<unknown[]> {
  const paths = archive.manifest.files.map(({ path }) => path).filter((path) => path.startsWith(`${folder}/0`));
  const rows = await Promise.all(paths.map((path) => archive.rows(path)));
  return rows.flat().map(([, n]) => Number(n));
}
const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe('an export of a company', () => {
  it('is one zip archive of all data of the company', async () => {
    const { dashboard } = await aSalesDashboard(company);
    const { token } = await aShare(company, dashboard._id);
    expect((await linkOf(token).resolve()).status).toBe(200);
    await createConcept(company.as);
    const { id, queue } = await aStarted(company);
    expect(await getExport(company, id)).toEqual({
      export_id: id,
      status: 'queued',
      bytes: null,
      url: null,
      expires_at: null,
      error: null,
    });
    await finish(queue);
    const found = await getExport(company, id);
    expect(found).toMatchObject({ status: 'succeeded', error: null, expires_at: expect.stringMatching(/Z$/) });
    const archive = await downloadArchive(found.url);
    expect(archive.bytes.length).toBe(found.bytes);
    expect(archive.manifest).toMatchObject({
      format: 'data-console-export/1',
      organization: { id: company.id, slug: company.slug },
    });
    const rows = Object.fromEntries(archive.manifest.files.map(({ path, rows }) => [path, rows]));
    const inTable = (await archive.rows('tables/sales/0001.parquet')).length;
    expect(rows).toMatchObject({
      'records/companies.ndjson': 1,
      'records/users.ndjson': 1,
      'records/dashboards.ndjson': 1,
      'records/dashboard_shares.ndjson': 1,
      'records/managed_tables.ndjson': 1,
      'tables/sales/schema.json': null,
      'tables/sales/0001.parquet': inTable,
      'knowledge.ossie.yaml': null,
    });
    expect(inTable).toBeGreaterThan(2);
    expect(archive.records('records/companies.ndjson')).toEqual([
      expect.objectContaining({ id: company.id, branding: {}, require_2fa: false, suspended_at: null }),
    ]);
    expect(JSON.parse(archive.text('tables/sales/schema.json'))).toMatchObject({
      name: 'sales',
      columns: expect.arrayContaining([expect.objectContaining({ name: 'amount', type: 'decimal' })]),
    });
    const routes = archive.records('audit-events.ndjson').map(({ route }) => route);
    expect(routes).toContain('/v1/managed-tables');
    const events = archive.records('share-events.ndjson').map(({ type }) => type);
    expect(events).toEqual(expect.arrayContaining(['share.created', 'share.resolved']));
    expect(archive.text('knowledge.ossie.yaml')).toMatch(/^version: /);
    // What it was made of is gone.
    expect(await objectsOf(company)).toEqual([`company-exports/${company.id}/${id}/archive.zip`]);
  });

  it('is made by the queue, and downloaded by its link without a session', async () => {
    const owner = await aCompany();
    const { status, body } = await owner.as.post(EXPORTS_PATH);
    expect([status, body]).toEqual([202, { export_id: expect.any(String), status: 'queued' }]);
    await expect
      .poll(async () => (await getExport(owner, body.export_id)).status, { timeout: 60_000, interval: 200 })
      .toBe('succeeded');
    const { url, bytes } = await getExport(owner, body.export_id);
    const { headers, bytes: got } = await download(url);
    expect(got.length).toBe(bytes);
    const day = new Date().toISOString().slice(0, 10);
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'application/zip',
      expect.stringContaining(`filename="${owner.slug}-${day}.zip"`),
    ]);
  });

  it('has the logo, and no tables when the company has no database', async () => {
    const owner = await aCompany();
    const png = Uint8Array.fromBase64(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    );
    await must(owner.as.put('/v1/company/branding/logo', { body: png, headers: { 'content-type': 'image/png' } }));
    const { id, queue } = await aStarted(owner);
    await finish(queue);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(archive.files.get('logo.png')?.subarray(1, 4)).toEqual(new TextEncoder().encode('PNG'));
    expect(archive.records('records/managed_tables.ndjson')).toEqual([]);
    expect([...archive.files.keys()].filter((path) => path.startsWith('tables/'))).toEqual([]);
  });

  it('has the records of archived log days, each once, in several files', async () => {
    const owner = await aCompany();
    const log = env.COMPANY_LOG.getByName(owner.id);
    const record = (n: number, daysAgo: number) => ({
      id: n.toString(16).padStart(24, '0'),
      correlationId: `c-${n}`,
      occurredAt: Date.now() - daysAgo * 24 * HOUR - n,
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
    await log.append(owner.id, 'audit', upTo(1_500).map((n) => record(n, n % 2 === 0 ? 0 : 200)) as never);
    await settleLog(owner.id);
    const { id } = await aStarted(owner);
    await turnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    const paths = archive.manifest.files.map(({ path }) => path).filter((path) => path.startsWith('audit-events'));
    expect(paths.length).toBeGreaterThan(2);
    const planted = paths.flatMap((path) => archive.records(path)).filter(({ route }) => route === '/planted');
    expect(planted.map(({ correlation_id }) => correlation_id).toSorted()).toEqual(
      upTo(1_500)
        .map((n) => `c-${n}`)
        .toSorted(),
    );
  });
});

describe('a request to export a company', () => {
  it('is not found under another id, or by another company', async () => {
    const { id } = await aStarted(company);
    const other = await aCompany();
    expect((await operator.get(`${pathOf(other)}/${id}`)).status).toBe(404);
    expect((await operator.get(`${pathOf(company)}/${id}`)).body).toMatchObject({ export_id: id });
    for (const wrong of ['none', 'f'.repeat(24)]) {
      expect((await company.as.get(`${EXPORTS_PATH}/${wrong}`)).status).toBe(404);
      expect((await operator.get(`${pathOf(company)}/${wrong}`)).status).toBe(404);
      expect((await operator.post(pathOf({ id: wrong }))).status).toBe(404);
      expect((await operator.get(`${pathOf({ id: wrong })}/${id}`)).status).toBe(404);
    }
    await oneFile(company, id).catch(() => undefined);
  });

  it('returns the export that is under way, whoever asked for it', async () => {
    const owner = await aCompany();
    const first = await aStarted(owner);
    const again = await must(owner.as.post(EXPORTS_PATH, { env: first.queue.env }));
    const operators = await must(operator.post(pathOf(owner), { env: first.queue.env }));
    expect([again, operators]).toEqual([
      { export_id: first.id, status: 'queued' },
      { export_id: first.id, status: 'queued' },
    ]);
    await finish(first.queue);
    const next = await must(owner.as.post(EXPORTS_PATH, { env: aQueue().env }));
    expect(next.export_id).not.toBe(first.id);
  });

  it('returns the export that somebody else asks for at the same moment', async () => {
    const owner = await aCompany();
    const queue = aQueue();
    let rival: { export_id: string } | undefined;
    const { body } = await sendOvertaken(
      /insert into "company_exports"/,
      async () => {
        rival = await must(operator.post(pathOf(owner), { env: queue.env }));
      },
      (watched) => owner.as.post(EXPORTS_PATH, { env: { ...queue.env, ...watched } }),
    );
    expect(body.export_id).toBe(rival?.export_id);
    expect(await countRows('company_exports where company_id = ?', owner.id)).toBe(1);
  });
});

describe('an export of a suspended company', () => {
  it('waits if its owner asked for it, and continues once the company is active', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    await oneFile(owner, id);
    await setStatus(owner, 'suspended');
    const before = await positionOf(owner, id);
    expect(await deliverMessage(queue.messages[0] as JobMessage, queue.env)).toBe('done');
    advanceClock(9 * 60_000);
    await runScheduled(queue.env);
    expect(messagesOf(queue, id)).toHaveLength(1);
    expect(await positionOf(owner, id)).toBe(before);
    expect((await owner.as.get(`${EXPORTS_PATH}/${id}`)).status).toBe(403);
    resetClock();
    queue.messages.length = 0;
    await setStatus(owner, 'active');
    await runScheduled(queue.env);
    const [message] = messagesOf(queue, id);
    expect(message).toMatchObject({ type: 'company.export', companyId: owner.id });
    await deliverMessage(message as JobMessage, queue.env);
    expect(await getExport(owner, id)).toMatchObject({ status: 'succeeded' });
  });

  it('is made for the operator, who can take over a waiting one, and whose link alone works', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    await setStatus(owner, 'suspended');
    await finish(queue);
    expect(await must(operator.post(pathOf(owner), { env: queue.env }))).toMatchObject({ export_id: id });
    await finish(queue);
    const { url } = await must(operator.get(`${pathOf(owner)}/${id}`));
    expect((await downloadArchive(url)).records('records/companies.ndjson')[0]?.suspended_at).toMatch(/Z$/);
    await setStatus(owner, 'active');
    const { url: owners } = await getExport(owner, id);
    expect((await download(owners)).status).toBe(200);
    await setStatus(owner, 'suspended');
    const refused = await download(owners);
    expect([refused.status, refused.body.details]).toEqual([403, { reason: 'company_suspended' }]);
    expect((await download(url)).status).toBe(200);
    expect((await owner.as.post(EXPORTS_PATH)).status).toBe(403);
  });
});

describe('an export of a company that is interrupted', () => {
  it('continues after any file, and has each row once', async () => {
    const { owner } = await aLargeTable();
    const { id, queue } = await aStarted(owner);
    const turns = await turnsUntil(owner, id, () => false);
    expect(turns).toBeGreaterThan(50);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await numbersIn(archive, 'tables/large')).toEqual(upTo(45_000));
    expect(archive.files.has('tables/large/0003.parquet')).toBe(true);
    // Late messages do nothing.
    expect(await deliverMessage(queue.messages[0] as JobMessage, queue.env)).toBe('done');
    expect(queue.messages).toHaveLength(1);
  });

  it('continues from its last saved position when it is killed at any write', async () => {
    const { owner } = await aLargeTable(300);
    const { id } = await aStarted(owner);
    // What R2 is asked for last fails, at each place in turn.
    let isDone = false;
    for (let failing = 1; !isDone; failing += 1) {
      let calls = 0;
      const dying = (bucket: R2Bucket): R2Bucket =>
        new Proxy(bucket, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return (...given: unknown[]) => {
              if (name === 'resumeMultipartUpload') return part(value.apply(target, given));
              calls += 1;
              if (calls === failing) throw new Error('killed');
              return value.apply(target, given);
            };
          },
        });
      const part = (upload: R2MultipartUpload) =>
        new Proxy(upload, {
          get(target, name) {
            const value = Reflect.get(target, name);
            if (typeof value !== 'function') return value;
            return async (...given: unknown[]) => {
              calls += 1;
              const isKilled = calls === failing;
              // What was asked for may be done all the same.
              const result = await value.apply(target, given);
              if (isKilled) throw new Error('killed');
              return result;
            };
          },
        });
      const message = { type: 'company.export', companyId: owner.id, exportId: id } as const;
      await env.CONTROL_DB.prepare('update company_exports set tries = 0 where id = ?').bind(id).run();
      await deliverMessage(message, { FILES: dying(env.FILES) });
      isDone = (await getExport(owner, id)).status === 'succeeded';
      expect(failing).toBeLessThan(40);
    }
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await numbersIn(archive, 'tables/large')).toEqual(upTo(300));
  });

  it('is complete when only the record of its success was lost', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    const [message] = queue.messages as [JobMessage];
    const { env: watched } = createRivalEnv(/update "company_exports" set "status" = \?, "bytes"/, async () => {
      throw new Error('killed');
    });
    expect(await deliverMessage(message, { ...queue.env, ...watched })).toBe('again');
    expect(await getExport(owner, id)).toMatchObject({ status: 'queued', bytes: null });
    expect(await deliverMessage(message, queue.env)).toBe('done');
    const { status, bytes, url } = await getExport(owner, id);
    expect([status, (await downloadArchive(url)).bytes.length]).toEqual(['succeeded', bytes]);
  });

  it('stays complete when its temporary objects cannot be deleted', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
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

  it('is worked on by only one queue delivery at a time', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    const [message] = queue.messages as [JobMessage];
    let within: string | undefined;
    await sendOvertaken(
      /from "groups"/,
      async () => {
        // Not even its last try is over.
        await env.CONTROL_DB.prepare('update company_exports set tries = 8 where id = ?').bind(id).run();
        within = await deliverMessage(message, queue.env);
        expect(await selectRow('select turn from company_exports where id = ?', id)).toEqual({ turn: 1 });
      },
      (watched) => deliverMessage(message, { ...queue.env, ...watched }),
    );
    expect([within, (await getExport(owner, id)).status]).toEqual(['done', 'succeeded']);
  });

  it('is not written any more by a delivery that a later one has replaced', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    const [message] = queue.messages as [JobMessage];
    await sendOvertaken(
      /from "groups"/,
      async () => {
        // The first is taken for dead.
        await env.CONTROL_DB.prepare('update company_exports set due_at = 0 where id = ?').bind(id).run();
        await oneFile(owner, id);
      },
      (watched) => deliverMessage(message, { ...queue.env, ...watched }),
    );
    expect(await getExport(owner, id)).toMatchObject({ status: 'running', bytes: null });
    expect(await selectRow('select turn from company_exports where id = ?', id)).toEqual({ turn: 2 });
    await deliverMessage(message, queue.env);
    await downloadArchive((await getExport(owner, id)).url);
  });

  it('is resumed by the scheduled run, and fails after too many attempts without leaving objects', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    queue.messages.length = 0;
    await runScheduled(queue.env);
    expect(messagesOf(queue, id)).toEqual([]);
    advanceClock(121_000);
    await runScheduled(queue.env);
    const [message] = messagesOf(queue, id) as [JobMessage];
    expect(message).toMatchObject({ companyId: owner.id });
    await oneFile(owner, id);
    const broken = { ...queue.env, CONTROL_DB: env.CONTROL_DB, FILES: { get: async () => null } };
    for (let tries = 0; tries < 8; tries += 1) {
      expect(await deliverMessage(message, broken)).toBe('again');
    }
    expect(await deliverMessage(message, queue.env)).toBe('done');
    expect(await getExport(owner, id)).toMatchObject({
      status: 'failed',
      error: 'The export was interrupted too often.',
      url: null,
    });
    expect(await objectsOf(owner)).toEqual([]);
  });
});

describe('a table that is changed during an export of its company', () => {
  const inLarge = (position: string) => position.includes('"within"');

  it('is left out of the archive when it is deleted', async () => {
    const { owner, id: table } = await aLargeTable();
    await createTable(owner.as, 'later', [column('n', 'integer')]);
    const { id } = await aStarted(owner);
    await MAX_RECORDS(owner, id);
    await turnsUntil(owner, id, inLarge);
    await must(owner.as.delete(`/v1/managed-tables/${table}`));
    await turnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect([...archive.files.keys()].filter((path) => path.startsWith('tables/')).toSorted()).toEqual([
      'tables/later/0001.parquet',
      'tables/later/schema.json',
    ]);
  });

  it('is written again when its values need another column type', async () => {
    const { owner } = await aLargeTable();
    const { id } = await aStarted(owner);
    await MAX_RECORDS(owner, id);
    await turnsUntil(owner, id, inLarge);
    await queryDatabase(owner, (database) =>
      database.execute('UPDATE public.large SET price = 0.123456 WHERE n = 45000'),
    );
    await turnsUntil(owner, id, () => false);
    const archive = await downloadArchive((await getExport(owner, id)).url);
    expect(await numbersIn(archive, 'tables/large')).toEqual(upTo(45_000));
    const last = archive.manifest.files.map(({ path }) => path).findLast((path) => path.includes('large/0')) as string;
    expect((await archive.rows(last)).at(-1)?.[2]).toBe(0.123456);
  });

  it('fails the export when its column types change again and again', async () => {
    const { owner } = await aLargeTable();
    const { id } = await aStarted(owner);
    await MAX_RECORDS(owner, id);
    for (let scale = 3; scale < 12 && (await getExport(owner, id)).status !== 'failed'; scale += 1) {
      await turnsUntil(owner, id, inLarge);
      await queryDatabase(owner, (database) =>
        database.execute(`UPDATE public.large SET price = 1 + 10::numeric ^ -${scale} WHERE n = 45000`),
      );
      await oneFile(owner, id, SMALL);
    }
    expect(await getExport(owner, id)).toMatchObject({
      status: 'failed',
      error: 'The table large was changed again and again while it was read.',
    });
    expect(await objectsOf(owner)).toEqual([]);
  });
});

describe('the archive of a company export', () => {
  it('is kept for a day, as is its link', async () => {
    const owner = await aCompany();
    const { id, queue } = await aStarted(owner);
    await finish(queue);
    const { url, expires_at } = await getExport(owner, id);
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(23.9 * HOUR);
    advanceClock(23.5 * HOUR);
    await runScheduled(queue.env);
    expect((await download(url)).status).toBe(200);
    expect(messagesOf(queue, id)).toEqual([]);
    advanceClock(24.1 * HOUR);
    expect((await download(url)).status).toBe(401);
    expect((await operator.get(`${pathOf(owner)}/${id}`)).status).toBe(404);
    await runScheduled(queue.env);
    expect(await objectsOf(owner)).toEqual([]);
    expect(await countRows('company_exports where id = ?', id)).toBe(0);
  });

  it('is refused to every other token', async () => {
    expect((await call('GET', '/data/archives/none')).status).toBe(401);
    expect((await call('GET', `/data/archives/${company.token}`)).status).toBe(401);
  });
});
