/**
 * Does all heavy work at its largest documented input, each twice at the same time, in workerd under a heap cap, and fails
 * if heap and buffers together reach the limit in either Worker.
 *
 *   npm run test:memory               all
 *   npm run test:memory -- XLSX       those whose name has that
 *
 * V8 kills workerd where what is alive in an isolate's heap exceeds the cap; garbage never does, as it is collected before.
 * Buffers and WebAssembly's memories lie outside the heap: they are added to what each full collection leaves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startSystem } from '../../bench/system.ts';
import type { Case } from './case.ts';
import { CASES } from './cases.ts';
import { NO_MODEL } from './knowledge.ts';
import { stopMails, useResend } from './mails.ts';
import { flagsFor, type Peak, type Peaks, watch } from './watch.ts';

/** Megabytes of heap and buffers together. */
const LIMIT = 96;

/** Megabytes that the heap of an isolate may never need. */
const CAP = LIMIT;
const CONCURRENCY = 2;
/** More than an isolate remembers. */
const PRINCIPALS = 20_000;

const nameFilters = process.argv.slice(2);
const selectedCases = CASES.filter(
  ({ name }) => nameFilters.length === 0 || nameFilters.some((part) => name.includes(part)),
);

const formatPeak = ({ heap, all }: Peak) => `${all.toFixed(1).padStart(6)} (${heap.toFixed(1)})`;
const check = (holds: boolean, what: string) => {
  console.log(`${holds ? '✓' : '✗'} ${what}`);
  if (!holds) process.exitCode = 1;
};

process.env.MINIFLARE_WORKERD_V8_FLAGS = flagsFor(CAP);
const byMailer = Map.groupBy(selectedCases, ({ mailer }) => mailer);
try {
  for (const [mailer, cases] of byMailer) await measure(cases, { ...NO_MODEL, ...(mailer && (await useResend())) });
} finally {
  await stopMails();
  // Sockets to an isolate that was killed.
  setImmediate(() => process.exit());
}

/** Does these, and then holds memory to see that it is noticed. */
async function measure(cases: Case[], variables: Record<string, string>): Promise<void> {
  const system = await startSystem('test/memory/worker.ts', variables, 'test/memory/background.ts');
  try {
    const { during } = await watch(system);
    const probe = (kind: string, megabytes: number) =>
      during(() => system.call('GET', `/probe?kind=${kind}&megabytes=${megabytes}`));

    console.log('MB in use at the peak, of which heap; of the API and of the Worker in the background');
    const empty = await during(async () => undefined);
    const report = (name: string, { api, background }: Peaks, since: number) =>
      check(
        api.all < LIMIT && background.all < LIMIT,
        `${name.padEnd(64)} ${formatPeak(api)}  ${formatPeak(background)}  ${((Date.now() - since) / 1000).toFixed(0)} s`,
      );
    report('nothing', empty, Date.now());
    await system.call('GET', `/principals?count=${PRINCIPALS}`);
    const idle = await during(async () => undefined);
    report('nothing, and all the principals known that an isolate remembers', idle, Date.now());
    for (const { name, prepare, run } of cases) {
      const began = Date.now();
      try {
        await system.renewToken();
        await prepare?.(system);
        // Connections that were closed meanwhile are not used again.
        await sleep(500);
        const peaks = await during(() =>
          Promise.all(Array.from({ length: CONCURRENCY }, (_, which) => run(system, which))),
        );
        report(name, peaks, began);
      } catch (error) {
        // What workerd was killed for, and whatever would come after it.
        check(false, `${name}: ${(error as Error).message.slice(0, 500)}`);
        return;
      }
    }

    // That the above can fail.
    for (const kind of ['heap', 'buffers', 'wasm']) {
      const more = (await probe(kind, 40)).api.all - idle.api.all;
      check(more > 35, `40 MB of ${kind} more are seen: ${more.toFixed(1)} MB`);
    }
    const outcome = await probe('heap', CAP * 1.5).then(
      () => 'answered',
      () => 'killed',
    );
    check(outcome === 'killed', `a heap beyond ${CAP} MB is ${outcome}`);
  } finally {
    await system.stop();
  }
}
