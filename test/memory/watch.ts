import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { openInspector, type SendCommand, type WorkerName } from '../../bench/heap.ts';
import type { System } from '../../bench/system.ts';

const POLL_INTERVAL_MS = 100;
/** The number of collections whose log lines fill V8's output buffer. */
const FLUSHING_COLLECTIONS = 5;
/** The Workers, the API last: the next requests must not use a connection that has been idle for workerd's five seconds. */
const WORKER_NAMES = ['background', 'api'] as const;

/**
 * Returns V8 flags: V8 prints the memory that remains after each full collection, and kills workerd if an isolate's heap needs
 * more than the cap. Buffers are freed by the collection that finds them dead: otherwise they would count as remaining memory.
 */
export const makeV8Flags = (capMegabytes: number): string =>
  [
    `--max-old-space-size=${capMegabytes}`,
    '--expose-gc',
    '--no-concurrent-array-buffer-sweeping',
    '--trace-gc',
    '--trace-gc-nvp',
    '--trace-gc-ignore-scavenger',
  ].join(' ');

/** A full garbage collection as V8 prints it; sizes in bytes. */
interface GarbageCollection {
  isolate: string;
  gc: string;
  reason: string;
  end_object_size: number;
  end_old_gen_consumed_size: number;
  /** The size of the old generation and of memory outside the heap: buffers and WebAssembly memories. */
  end_global_consumed_size: number;
}

/** The maximum memory in use, in megabytes: of the heap, and of everything. Zero if no collection ran. */
export interface MemoryPeak {
  heapMegabytes: number;
  totalMegabytes: number;
}

export type MemoryPeaks = Record<WorkerName, MemoryPeak>;

/**
 * Watches the memory of the isolates of both Workers. Only the memory that remains after a full collection counts: the rest is
 * garbage, which V8 keeps for as long as there is space. V8 collects by itself, even during a turn; in addition, collections are
 * requested here, which an isolate runs only when it gets something new to do, and by the work itself (`garbage-collection.ts`).
 */
export async function watchMemory(system: System) {
  const isolates = {} as Record<WorkerName, string>;
  const inspectorCalls = {} as Record<WorkerName, SendCommand>;
  for (const worker of WORKER_NAMES) {
    inspectorCalls[worker] = (await openInspector(system.inspectorPort, worker)).sendCommand;
    await flushLog(system, worker, inspectorCalls[worker]);
    const from = (await stat(system.logFile)).size;
    await flushLog(system, worker, inspectorCalls[worker]);
    isolates[worker] = findMostFrequent((await readCollections(system, from)).map(({ isolate }) => isolate));
  }
  if (isolates.api === isolates.background) throw new Error('The two Workers cannot be told apart.');
  const flushAllLogs = async () => {
    for (const worker of WORKER_NAMES) await flushLog(system, worker, inspectorCalls[worker]);
  };
  return {
    /** Runs some work. @returns the peak of the memory in use meanwhile */
    async measurePeaks(work: () => Promise<unknown>): Promise<MemoryPeaks> {
      await flushAllLogs();
      const from = (await stat(system.logFile)).size;
      let isBusy = true;
      const pendingCollections = WORKER_NAMES.map((worker) =>
        collectGarbageWhile(inspectorCalls[worker], () => isBusy),
      );
      try {
        await work();
      } finally {
        isBusy = false;
      }
      await Promise.all(pendingCollections);
      await flushAllLogs();
      const collections = await readCollections(system, from);
      return { api: computePeak(collections, isolates.api), background: computePeak(collections, isolates.background) };
    },
  };
}

/** Has a Worker collect garbage until all earlier lines have been written: V8 buffers 4 KB of output. */
async function flushLog(system: System, worker: WorkerName, ask: SendCommand): Promise<void> {
  for (let collectionNumber = 0; collectionNumber < FLUSHING_COLLECTIONS; collectionNumber += 1) {
    let isDone = false;
    const pendingCollection = ask('HeapProfiler.collectGarbage').then(() => {
      isDone = true;
    });
    // An isolate collects once it has something else to do.
    while (!isDone) {
      if (worker === 'background') await system.runScheduled();
      else await fetch(`${system.baseUrl}/health`);
      await Promise.race([pendingCollection, sleep(POLL_INTERVAL_MS)]);
    }
  }
  await sleep(POLL_INTERVAL_MS);
}

function findMostFrequent(isolates: string[]): string {
  const counts = Map.groupBy(isolates, (isolate) => isolate);
  const [[isolate] = []] = [...counts].toSorted(([, a], [, b]) => b.length - a.length);
  if (!isolate) throw new Error('V8 printed no collection.');
  return isolate;
}

async function collectGarbageWhile(ask: SendCommand, isBusy: () => boolean): Promise<void> {
  let isAnswered = true;
  for (; isBusy(); await sleep(POLL_INTERVAL_MS)) {
    if (!isAnswered) continue;
    isAnswered = false;
    void ask('HeapProfiler.collectGarbage').then(() => {
      isAnswered = true;
    });
  }
}

async function readCollections(system: System, from: number): Promise<GarbageCollection[]> {
  const file = await open(system.logFile);
  try {
    const { size } = await file.stat();
    const { buffer } = await file.read({ buffer: Buffer.alloc(Math.max(0, size - from)), position: from });
    return buffer.toString().split('\n').flatMap(readCollection);
  } finally {
    await file.close();
  }
}

function readCollection(line: string): GarbageCollection[] {
  const [, isolate, figures] = /\[\d+:(0x[0-9a-f]+)[^\]]*\].*? GC: (\{.*\})/.exec(line) ?? [];
  if (!isolate || !figures) return [];
  const collection: GarbageCollection = { ...JSON.parse(figures), isolate };
  return collection.gc === 'mc' ? [collection] : [];
}

function computePeak(collections: GarbageCollection[], isolate: string): MemoryPeak {
  const ownCollections = collections.filter((collection) => collection.isolate === isolate);
  const getBytesOutsideHeap = (eachCollection: GarbageCollection) =>
    eachCollection.end_global_consumed_size - eachCollection.end_old_gen_consumed_size;
  const findMaxMegabytes = (getBytes: (eachCollection: GarbageCollection) => number) =>
    Math.max(0, ...ownCollections.map(getBytes)) / 1e6;
  return {
    heapMegabytes: findMaxMegabytes((eachCollection) => eachCollection.end_object_size),
    totalMegabytes: findMaxMegabytes((one) => one.end_object_size + getBytesOutsideHeap(one)),
  };
}
