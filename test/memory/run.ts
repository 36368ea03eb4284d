/**
 * Runs all heavy work with the largest documented input, each case twice at the same time, in workerd under a heap cap, and fails
 * if heap and buffers together reach the limit in either Worker. `npm run test:memory` runs all cases, `npm run test:memory --
 * XLSX` those whose name contains "XLSX". V8 kills workerd if the live objects in an isolate's heap exceed the cap; garbage never
 * counts, as it is collected before. Buffers and WebAssembly memories are outside the heap: they are added to what remains after
 * each full collection.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startSystem } from '../../bench/system.ts';
import type { MemoryCase } from './case.ts';
import { MEMORY_CASES } from './cases.ts';
import { NO_MODEL_ENV } from './knowledge.ts';
import { createResendVariables, stopMailService } from './mails.ts';
import { type MemoryPeak, type MemoryPeaks, makeV8Flags, watchMemory } from './watch.ts';

/** The limit of heap and buffers together, in megabytes. */
const MEMORY_LIMIT_MB = 96;

/** The heap size that an isolate may never need, in megabytes. */
const HEAP_CAP_MB = MEMORY_LIMIT_MB;
const RUNS_PER_CASE = 2;
/** The number of cached principals: more than an isolate stores. */
const PRINCIPAL_COUNT = 20_000;

const nameFilters = process.argv.slice(2);
const selectedCases = MEMORY_CASES.filter(
  ({ name }) => nameFilters.length === 0 || nameFilters.some((nameFilter) => name.includes(nameFilter)),
);

const formatPeak = ({ heapMegabytes, totalMegabytes }: MemoryPeak) =>
  `${totalMegabytes.toFixed(1).padStart(6)} (${heapMegabytes.toFixed(1)})`;
const printCheck = (isPassed: boolean, description: string) => {
  console.log(`${isPassed ? '✓' : '✗'} ${description}`);
  if (!isPassed) process.exitCode = 1;
};

process.env.MINIFLARE_WORKERD_V8_FLAGS = makeV8Flags(HEAP_CAP_MB);
const casesByMailer = Map.groupBy(selectedCases, ({ mailer }) => mailer);
try {
  for (const [mailer, cases] of casesByMailer) {
    const variables = { ...NO_MODEL_ENV, ...(mailer && (await createResendVariables())) };
    for (let remainingCases = cases; remainingCases.length > 0; )
      remainingCases = await measureCases(remainingCases, variables);
  }
} finally {
  await stopMailService();
  // Sockets to an isolate that was killed.
  setImmediate(() => process.exit());
}

/**
 * Runs cases until one breaks off, and finally allocates memory to check that the measurement notices it.
 * @returns the cases after the one that broke off
 */
async function measureCases(cases: MemoryCase[], variables: Record<string, string>): Promise<MemoryCase[]> {
  const system = await startSystem('test/memory/worker.ts', variables, 'test/memory/background.ts');
  try {
    const { measurePeaks } = await watchMemory(system);
    const measureAllocation = (kind: string, megabytes: number) =>
      measurePeaks(() => system.call('GET', `/probe?kind=${kind}&megabytes=${megabytes}`));

    console.log('MB in use at the peak, of which heap; of the API and of the Worker in the background');
    const emptyPeaks = await measurePeaks(async () => undefined);
    const reportPeaks = (name: string, { api, background }: MemoryPeaks, startedAt: number) =>
      printCheck(
        api.totalMegabytes < MEMORY_LIMIT_MB && background.totalMegabytes < MEMORY_LIMIT_MB,
        `${name.padEnd(64)} ${formatPeak(api)}  ${formatPeak(background)}  ${((Date.now() - startedAt) / 1000).toFixed(0)} s`,
      );
    reportPeaks('nothing', emptyPeaks, Date.now());
    await system.call('GET', `/principals?count=${PRINCIPAL_COUNT}`);
    const idlePeaks = await measurePeaks(async () => undefined);
    reportPeaks('nothing, and all the principals known that an isolate remembers', idlePeaks, Date.now());
    for (const [index, { name, prepare, run }] of cases.entries()) {
      const startedAt = Date.now();
      try {
        await prepare?.(system);
        // Connections that were closed meanwhile are not used again.
        await sleep(500);
        const peaks = await measurePeaks(() =>
          Promise.all(Array.from({ length: RUNS_PER_CASE }, (_, runNumber) => run(system, runNumber))),
        );
        reportPeaks(name, peaks, startedAt);
      } catch (error) {
        // Perhaps what workerd was killed for.
        printCheck(false, `${name}: ${(error as Error).message.slice(0, 500)}`);
        return cases.slice(index + 1);
      }
    }

    // That the above can fail.
    for (const kind of ['heap', 'buffers', 'wasm']) {
      const extraMegabytes = (await measureAllocation(kind, 40)).api.totalMegabytes - idlePeaks.api.totalMegabytes;
      printCheck(extraMegabytes > 35, `40 MB of ${kind} more are seen: ${extraMegabytes.toFixed(1)} MB`);
    }
    const outcome = await measureAllocation('heap', HEAP_CAP_MB * 1.5).then(
      () => 'answered',
      () => 'killed',
    );
    printCheck(outcome === 'killed', `a heap beyond ${HEAP_CAP_MB} MB is ${outcome}`);
    return [];
  } finally {
    await system.stop();
  }
}
