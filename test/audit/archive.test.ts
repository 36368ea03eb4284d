import { env } from 'cloudflare:test';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { idsFrom, newId } from '../../src/kernel/ids.ts';
import { runScheduled } from '../support/clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const COLUMNS = 'id, correlation_id, occurred_at, company_id, principal_type, method, status, duration_ms';

beforeEach(async () => {
  await env.AUDIT_DB.batch(
    ['audit_events', 'share_events', 'dead_letters'].map((table) => env.AUDIT_DB.prepare(`DELETE FROM ${table}`)),
  );
  const { objects } = await env.FILES.list({ prefix: 'archive/' });
  await env.FILES.delete(objects.map(({ key }) => key));
});
afterEach(() => vi.restoreAllMocks());

/** Stores `count` records of requests that are so many days old. @returns their ids, sorted */
async function records(days: number, count = 1): Promise<string[]> {
  const at = Date.now() - days * DAY_MS;
  const ids = Array.from({ length: count }, () => newId(at)).sort();
  await env.AUDIT_DB.prepare(
    `INSERT INTO audit_events (${COLUMNS}) SELECT value, 'c', ${at}, 'company', 'user', 'GET', 200, 1 FROM json_each(?)`,
  )
    .bind(JSON.stringify(ids))
    .run();
  return ids;
}

const idsIn = async (table: string): Promise<unknown[]> =>
  (await env.AUDIT_DB.prepare(`SELECT id FROM ${table} ORDER BY id`).all()).results.map(({ id }) => id);

/** Rows of all files below a folder, by file. */
async function archived(name: string): Promise<Record<string, Record<string, unknown>[]>> {
  const { objects } = await env.FILES.list({ prefix: `archive/${name}/` });
  const files: Record<string, Record<string, unknown>[]> = {};
  for (const { key } of objects) {
    const text = (await (await env.FILES.get(key))?.text()) ?? '';
    files[key] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
  return files;
}

it('the archiving moves records that have aged to a file of their day, and leaves the others', async () => {
  const [kept, old, older] = [await records(89), await records(91, 3), await records(95)];
  await runScheduled();
  expect(await idsIn('audit_events')).toEqual(kept);
  const files = await archived('audit-events');
  expect(Object.values(files).map((rows) => rows.map(({ id }) => id))).toEqual([older, old]);
  const day = new Date(Date.now() - 91 * DAY_MS).toISOString().slice(0, 10);
  expect(files[`archive/audit-events/${day}/${old[0]}.ndjson`]?.[0]).toMatchObject({
    id: old[0],
    company_id: 'company',
    method: 'GET',
    status: 200,
    duration_ms: 1,
  });
});

it('the archiving keeps as many days as are configured, and moves more than one file holds', async () => {
  const many = await records(3, 2500);
  await runScheduled({ AUDIT_RETENTION_DAYS: '2' });
  expect(await idsIn('audit_events')).toEqual([]);
  const files = Object.values(await archived('audit-events'));
  expect(files.map((rows) => rows.length)).toEqual([1000, 1000, 500]);
  expect(files.flat().map(({ id }) => id)).toEqual(many);
});

it('the archiving writes the same file again when it broke off before it deleted', async () => {
  const old = await records(91, 2);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const failing = { put: () => Promise.reject(new Error('away')), list: () => env.FILES.list() };
  await runScheduled({ FILES: failing });
  expect(await idsIn('audit_events')).toEqual(old);
  await runScheduled();
  expect(Object.values(await archived('audit-events')).flat()).toHaveLength(2);
});

it('the archiving moves share events too, and deletes dead letters that were sent again a month ago', async () => {
  const at = Date.now() - 91 * DAY_MS;
  const id = `${idsFrom(at)}${'a'.repeat(16)}`;
  const dead = (name: string, died: number, replayed: number | null) =>
    env.AUDIT_DB.prepare(`INSERT INTO dead_letters VALUES (?, 'data-console-jobs', '{}', 6, ?, ?, ?)`).bind(
      name,
      died,
      replayed,
      replayed,
    );
  await env.AUDIT_DB.batch([
    env.AUDIT_DB.prepare(
      `INSERT INTO share_events (id, company_id, type, occurred_at, actor_kind, correlation_id, viewer, details)
       VALUES (?, 'company', 'share.executed', ?, 'anonymous', 'c', 'v', '{}')`,
    ).bind(id, at),
    dead('dead', at, null),
    dead('replayed long ago', at, Date.now() - 31 * DAY_MS),
    dead('replayed lately', at, Date.now() - DAY_MS),
  ]);
  await runScheduled();
  expect(await idsIn('share_events')).toEqual([]);
  expect(Object.values(await archived('share-events')).flat()).toEqual([expect.objectContaining({ id, viewer: 'v' })]);
  expect(await idsIn('dead_letters')).toEqual(['dead', 'replayed lately']);
});
