/**
 * Measures a page of a long list, beside the bare keyset query for one page, on the same D1 in the same workerd and
 * run.
 *
 *   npm run bench -- lists
 *
 * 100,000 users in one organization, pages of 20. Page 1 with its exact total may cost 3 times, page 5,000 30 times,
 * the keyset query, in every ordering; page 2,500 is the farthest from both ends. The same limits apply to the users of
 * one account.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { bundleWorker } from '../local/bundle.ts';
import type { TimedRead } from './lists/worker.ts';
import { migrateDatabase } from './signed-request/start.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const USER_COUNT = 100_000;
const PER_PAGE = 20;
const MAX_FIRST_PAGE_RATIO = 3;
const MAX_DEEP_PAGE_RATIO = 30;
const ROUND_COUNT = 5;
const REPEAT_COUNT = 20;
const COMPANY_ID = '65f000000000000000000001';
const ACCOUNT_ID = '65f000000000000000000002';
const CROWDED_ACCOUNT_ID = '65f000000000000000000003';

const projectDir = new URL('..', import.meta.url).pathname;
const folder = await mkdtemp(join(tmpdir(), 'bench-lists-'));
const modulesRoot = join(folder, 'bundle');
const modules = await bundleWorker(projectDir, modulesRoot, join(projectDir, 'bench/lists/worker.ts'));
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    cf: false,
    telemetry: { enabled: false },
    workers: [
      {
        name: 'bench',
        modules,
        modulesRoot,
        compatibilityDate: '2026-09-01',
        compatibilityFlags: ['nodejs_compat'],
        d1Databases: { CONTROL_DB: 'bench' },
      },
    ],
  }),
);

async function fillTables(): Promise<TimedRead['after']> {
  const db = await miniflare.getD1Database('CONTROL_DB', 'bench');
  await migrateDatabase(db);
  await db
    .prepare(
      `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${USER_COUNT})
       insert into users (id, company_id, email, name, is_active, teams, metadata, created_at, updated_at, last_login_at)
       select printf('%08x', i / 50) || lower(hex(randomblob(8))), ?, lower(hex(randomblob(6))) || '@bench.test', 'Someone',
         1, '[]', '{"department":"sales"}', i / 3, abs(random() % 100000), iif(i % 3 = 0, null, abs(random() % 100000)) from n`,
    )
    .bind(COMPANY_ID)
    .run();
  for (const [account, every] of [
    [ACCOUNT_ID, 50],
    [CROWDED_ACCOUNT_ID, 1],
  ] as const) {
    await db
      .prepare(
        `insert into group_bindings select lower(hex(randomblob(12))), company_id, 'group', 'user', id, ?, created_at
         from users where rowid % ? = 0`,
      )
      .bind(account, every)
      .run();
  }
  const lastRow = await db
    .prepare('select created_at as createdAt, id from users order by created_at desc, id desc limit 1 offset 50000')
    .first<TimedRead['after']>();
  if (!lastRow) throw new Error('The database is empty.');
  return lastRow;
}

/** Measures the milliseconds of one read, averaged over the repeats. */
async function measureRead(run: TimedRead): Promise<number> {
  const response = await miniflare.dispatchFetch('http://bench/', { method: 'POST', body: JSON.stringify(run) });
  const { milliseconds, rows } = (await response.json()) as { milliseconds: number; rows: number };
  if (rows !== PER_PAGE) throw new Error(`A page of ${rows} rows was read: ${JSON.stringify(run)}`);
  return milliseconds / run.repeats;
}

interface MeasuredRead {
  title: string;
  readOptions: Omit<TimedRead, 'companyId' | 'after' | 'repeats'>;
  limit: number;
}

const SORT_FIELDS = ['created_at', 'updated_at', 'email', 'last_login_at'] as const;
const USER_LISTS = [
  { scope: '', accountId: undefined, pages: [1, 2500, 5000] },
  { scope: ' of an account of 100,000', accountId: CROWDED_ACCOUNT_ID, pages: [1, 2500, 5000] },
  { scope: ' of an account of 2,000', accountId: ACCOUNT_ID, pages: [1, 50] },
];
const MEASURED_READS: MeasuredRead[] = USER_LISTS.flatMap(({ scope, accountId, pages }) =>
  SORT_FIELDS.flatMap((by) =>
    pages.map((page) => ({
      title: `page ${page.toLocaleString('en')} by ${by}${scope}`,
      readOptions: { page, by, accountId },
      limit: page === 1 ? MAX_FIRST_PAGE_RATIO : MAX_DEEP_PAGE_RATIO,
    })),
  ),
);

try {
  const sharedOptions = { companyId: COMPANY_ID, after: await fillTables(), repeats: REPEAT_COUNT };
  const best = new Map<string, number>();
  let keysetMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUND_COUNT; round++) {
    keysetMs = Math.min(keysetMs, await measureRead({ ...sharedOptions, page: null, by: 'created_at' }));
    for (const { title, readOptions } of MEASURED_READS) {
      best.set(
        title,
        Math.min(best.get(title) ?? Number.POSITIVE_INFINITY, await measureRead({ ...sharedOptions, ...readOptions })),
      );
    }
  }
  const printLine = (label: string, ms: number, suffix = '') =>
    console.log(`${label.padEnd(58)}${ms.toFixed(3).padStart(9)} ms${suffix}`);
  const worstRatios = new Map<number, number>();
  printLine('bare keyset query for one page', keysetMs);
  for (const { title, limit } of MEASURED_READS) {
    const ms = best.get(title) as number;
    const ratio = ms / keysetMs;
    printLine(title, ms, `   ratio ${ratio.toFixed(1)}`);
    worstRatios.set(limit, Math.max(worstRatios.get(limit) ?? 0, ratio));
  }
  const readWorstRatio = (limit: number) => worstRatios.get(limit) as number;
  printVerdict(
    'page 1 of 100,000 users in any order, against the bare keyset query',
    readWorstRatio(MAX_FIRST_PAGE_RATIO),
    makeUpperLimit(MAX_FIRST_PAGE_RATIO),
  );
  printVerdict(
    'pages up to the 5,000th, against the same',
    readWorstRatio(MAX_DEEP_PAGE_RATIO),
    makeUpperLimit(MAX_DEEP_PAGE_RATIO),
  );
} finally {
  await miniflare.dispose();
  await rm(folder, { recursive: true, force: true });
}
