/**
 * Measures the log of one company with ten million records of a hundred days, half of them moved to R2: rows written
 * per record, by the runtime's own count; the time of pages, of each documented filter and of an export; and the memory
 * of workerd meanwhile. `LOG_RECORDS` sets another number. Needs Linux.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { bundleWorker } from '../local/bundle.ts';
import { findWorkerd } from './signed-request/start.ts';
import { readResidentMemory, resetPeak } from './usage.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const PROJECT = resolve(import.meta.dirname, '..');
const RECORD_COUNT = Number(process.env.LOG_RECORDS ?? 10_000_000);
const DAY_COUNT = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

const folder = await mkdtemp(join(tmpdir(), 'bench-log-'));
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    cf: false,
    telemetry: { enabled: false },
    handleStructuredLogs: () => undefined,
    resourcePersistencePath: join(folder, 'storage'),
    workers: [
      {
        name: 'log',
        compatibilityDate: '2026-09-01',
        compatibilityFlags: ['nodejs_compat'],
        modules: await bundleWorker(PROJECT, join(folder, 'bundle'), resolve(import.meta.dirname, 'log/worker.ts')),
        modulesRoot: join(folder, 'bundle'),
        durableObjects: { COMPANY_LOG: { className: 'BenchLog', useSQLite: true } },
        r2Buckets: ['FILES'],
        bindings: { AUDIT_RETENTION_DAYS: '50' },
      },
    ],
  }),
);
await miniflare.ready;
const pid = findWorkerd(process.pid);

/** Has the Worker run a command. @returns its answer, and the seconds that it took */
async function sendCommand<T>(
  command: string,
  query: Record<string, string> = {},
): Promise<{ answer: T; seconds: number }> {
  const startedAt = performance.now();
  const response = await miniflare.dispatchFetch(`http://log/${command}?${new URLSearchParams(query)}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${command} answered ${response.status}: ${text.slice(0, 500)}`);
  return { answer: JSON.parse(text), seconds: (performance.now() - startedAt) / 1000 };
}

try {
  const count = RECORD_COUNT / DAY_COUNT;
  let writtenRowCount = 0;
  for (let day = DAY_COUNT; day > 0; day -= 1) {
    const query = { day: String(day), from: String((DAY_COUNT - day) * count), count: String(count) };
    writtenRowCount += (await sendCommand<number>('append', query)).answer;
  }
  printVerdict('rows written a record', writtenRowCount / RECORD_COUNT, makeUpperLimit(1.2), 'rows');
  await sendCommand('move');
  for (let recordsBefore = RECORD_COUNT; ; ) {
    await sleep(5000);
    const { answer } = await sendCommand<{ records: number; bytes: number }>('left');
    if (answer.records === recordsBefore && answer.records < RECORD_COUNT) {
      console.log(
        `  ${answer.records} records are left in the object: ${(answer.bytes / answer.records).toFixed(0)} bytes each`,
      );
      break;
    }
    recordsBefore = answer.records;
  }

  await resetPeak(pid);
  const { currentMb: idleMb } = await readResidentMemory(pid);
  const computePastTime = (daysAgo: number) => Date.now() - daysAgo * DAY_MS;
  const queries: Record<string, { filter?: object; page?: number; total: number }> = {
    'the first page': { total: RECORD_COUNT },
    'the middle page': { page: RECORD_COUNT / 200, total: RECORD_COUNT },
    'the last page': { page: RECORD_COUNT / 100, total: RECORD_COUNT },
    'one of forty actions': { filter: { values: { action: 'managed-tables:action-7' } }, total: RECORD_COUNT / 40 },
    'one of a thousand people': {
      filter: { values: { principalId: '7'.padStart(24, '0') } },
      total: RECORD_COUNT / 1000,
    },
    'one request that is long past': {
      filter: { values: { correlationId: `00000000-0000-4000-8000-${(4).toString(16).padStart(12, '0')}` } },
      total: 1,
    },
    'one request that never was': { filter: { values: { correlationId: 'no such' } }, total: 0 },
    'ten days of both': { filter: { from: computePastTime(60), to: computePastTime(50) }, total: Number.NaN },
  };
  for (const [title, { filter, page = 1, total }] of Object.entries(queries)) {
    const query = JSON.stringify({ values: {}, ...filter, page, perPage: 100 });
    const { answer, seconds } = await sendCommand<{ total: number; records: number }>('list', { query });
    console.log(`  ${title}: ${answer.total} in all, ${answer.records} shown, ${seconds.toFixed(2)} s`);
    if (!Number.isNaN(total) && answer.total !== total) throw new Error(`${title}: ${total} was expected`);
  }
  const { answer: exportedCount, seconds } = await sendCommand<number>('export');
  console.log(`  the export: ${exportedCount} records, ${seconds.toFixed(1)} s`);
  printVerdict('records missing in the export', RECORD_COUNT - exportedCount, makeUpperLimit(0), `of ${RECORD_COUNT}`);
  const { peakMb } = await readResidentMemory(pid);
  console.log(`  memory of workerd: ${idleMb.toFixed(0)} MB before, ${peakMb.toFixed(0)} MB at its peak`);
  printVerdict(
    'peak memory of lists, filters and an export, beyond that before',
    Math.max(0, peakMb - idleMb),
    makeUpperLimit(192),
    'MB',
  );
} finally {
  await miniflare.dispose();
  await rm(folder, { recursive: true, force: true });
}
