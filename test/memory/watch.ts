import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ask, inspect, type Worker } from '../../bench/heap.ts';
import type { System } from '../../bench/system.ts';

const EVERY_MS = 100;
/** Collections whose lines fill the buffer. */
const FLUSHING = 5;
/** The API last: requests that follow must not meet a connection that has been idle for workerd's five seconds. */
const WORKERS = ['background', 'api'] as const;

/**
 * Has V8 print what each full collection leaves, and kill workerd if an isolate's heap needs more than that. Buffers are
 * freed by the collection that finds them dead: otherwise it would count them among what it leaves.
 */
export const flagsFor = (capMegabytes: number): string =>
  [
    `--max-old-space-size=${capMegabytes}`,
    '--expose-gc',
    '--no-concurrent-array-buffer-sweeping',
    '--trace-gc',
    '--trace-gc-nvp',
    '--trace-gc-ignore-scavenger',
  ].join(' ');

/** A full collection, as V8 prints it; sizes in bytes. */
interface Collection {
  isolate: string;
  gc: string;
  reason: string;
  end_object_size: number;
  end_old_gen_consumed_size: number;
  /** The old generation and what lives outside the heap: buffers, WebAssembly's memories. */
  end_global_consumed_size: number;
}

/** The most memory that was in use, in megabytes: the heap's and all. Zero where no collection ran. */
export interface Peak {
  heap: number;
  all: number;
}

export type Peaks = Record<Worker, Peak>;

/**
 * Watches what the isolates of the two Workers have in use. Only what a full collection leaves counts: the rest is garbage,
 * which V8 keeps for as long as there is room. V8 collects by itself, in the middle of a turn too; in between it is asked to:
 * here, which an isolate hears only once something new comes to it, and by the work itself (`collecting.ts`).
 */
export async function watch(system: System) {
  const isolates = {} as Record<Worker, string>;
  const asks = {} as Record<Worker, Ask>;
  for (const worker of WORKERS) {
    asks[worker] = (await inspect(system.inspectorPort, worker)).ask;
    await flush(system, worker, asks[worker]);
    const from = (await stat(system.logFile)).size;
    await flush(system, worker, asks[worker]);
    isolates[worker] = mostFrequent((await collectionsSince(system, from)).map(({ isolate }) => isolate));
  }
  if (isolates.api === isolates.background) throw new Error('The two Workers cannot be told apart.');
  const flushAll = async () => {
    for (const worker of WORKERS) await flush(system, worker, asks[worker]);
  };
  return {
    /** Does some work. @returns the most that was in use meanwhile */
    async during(work: () => Promise<unknown>): Promise<Peaks> {
      await flushAll();
      const from = (await stat(system.logFile)).size;
      let isBusy = true;
      const collecting = WORKERS.map((worker) => collectWhile(asks[worker], () => isBusy));
      try {
        await work();
      } finally {
        isBusy = false;
      }
      await Promise.all(collecting);
      await flushAll();
      const collections = await collectionsSince(system, from);
      return { api: peakOf(collections, isolates.api), background: peakOf(collections, isolates.background) };
    },
  };
}

/** Has a Worker collect until all lines before have been written: V8's output is buffered, 4 KB of it. */
async function flush(system: System, worker: Worker, ask: Ask): Promise<void> {
  for (let round = 0; round < FLUSHING; round += 1) {
    let isDone = false;
    const collected = ask('HeapProfiler.collectGarbage').then(() => {
      isDone = true;
    });
    // An isolate collects once it has something else to do.
    while (!isDone) {
      if (worker === 'background') await system.runScheduled();
      else await fetch(`${system.baseUrl}/health`);
      await Promise.race([collected, sleep(EVERY_MS)]);
    }
  }
  await sleep(EVERY_MS);
}

function mostFrequent(isolates: string[]): string {
  const counts = Map.groupBy(isolates, (isolate) => isolate);
  const [[isolate] = []] = [...counts].toSorted(([, a], [, b]) => b.length - a.length);
  if (!isolate) throw new Error('V8 printed no collection.');
  return isolate;
}

async function collectWhile(ask: Ask, isBusy: () => boolean): Promise<void> {
  let isAnswered = true;
  for (; isBusy(); await sleep(EVERY_MS)) {
    if (!isAnswered) continue;
    isAnswered = false;
    void ask('HeapProfiler.collectGarbage').then(() => {
      isAnswered = true;
    });
  }
}

async function collectionsSince(system: System, from: number): Promise<Collection[]> {
  const file = await open(system.logFile);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read({ buffer: Buffer.alloc(Math.max(0, size - from)), position: from });
    return buffer.toString().split('\n').flatMap(readCollection);
  } finally {
    await file.close();
  }
}

function readCollection(line: string): Collection[] {
  const [, isolate, figures] = /\[\d+:(0x[0-9a-f]+)[^\]]*\].*? GC: (\{.*\})/.exec(line) ?? [];
  if (!isolate || !figures) return [];
  const collection: Collection = { ...JSON.parse(figures), isolate };
  return collection.gc === 'mc' ? [collection] : [];
}

function peakOf(collections: Collection[], isolate: string): Peak {
  const own = collections.filter((collection) => collection.isolate === isolate);
  const outside = (one: Collection) => one.end_global_consumed_size - one.end_old_gen_consumed_size;
  const most = (figure: (one: Collection) => number) => Math.max(0, ...own.map(figure)) / 1e6;
  return { heap: most((one) => one.end_object_size), all: most((one) => one.end_object_size + outside(one)) };
}
