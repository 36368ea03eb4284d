import { AsyncLocalStorage } from 'node:async_hooks';

/** Use since the last call of `takeUsage`, by name: `d1.rowsWritten`. */
const pendingUsage = new Map<string, number>();

export function addUse(name: string, amount = 1): void {
  pendingUsage.set(name, (pendingUsage.get(name) ?? 0) + amount);
}

/**
 * Counts the rows that a cursor has read and written, in a microtask: the cursor has been read by then, and thousands
 * of cursors kept for longer would fill the memory.
 */
export function countCursorRows(kind: string, cursor: { rowsRead: number; rowsWritten: number }): void {
  queueMicrotask(() => {
    addUse(`${kind}.rowsRead`, cursor.rowsRead);
    addUse(`${kind}.rowsWritten`, cursor.rowsWritten);
  });
}

/** Returns the use since the last call of this function, and starts counting from 0. */
export function takeUsage(): Record<string, number> {
  const takenUsage = Object.fromEntries([...pendingUsage].filter(([, amount]) => amount > 0));
  pendingUsage.clear();
  return takenUsage;
}

/** Phase of a request in which D1 is queried: authorization, its handler, or after its answer. */
type Phase = 'entrance' | 'handler' | 'afterwards';

/** Counts of the remote calls of one request. */
interface RequestHops {
  phase: Phase;
  /** Length of the longest chain of calls, each begun after the answer of the one before. */
  hopCount: number;
  /** Value of `hopCount` when the handler began. */
  hopCountBeforeHandler: number | null;
}

const requestHops = new AsyncLocalStorage<RequestHops>();

let latencyMs = 0;

/** Sets the simulated round-trip latency of D1 and of every Durable Object. */
export function setLatency(milliseconds: number): void {
  latencyMs = milliseconds;
}

/**
 * Handles a request and counts its remote calls.
 * @returns the answer, with the numbers of sequential remote calls before the handler and in all as `x-hops`
 */
export async function followRequest(handleRequest: () => Promise<Response>): Promise<Response> {
  const ownHops: RequestHops = { phase: 'entrance', hopCount: 0, hopCountBeforeHandler: null };
  const answer = await requestHops.run(ownHops, handleRequest);
  const { hopCountBeforeHandler, hopCount } = ownHops;
  ownHops.phase = 'afterwards';
  const annotatedAnswer = new Response(answer.body, answer);
  annotatedAnswer.headers.set('x-hops', JSON.stringify({ before: hopCountBeforeHandler ?? hopCount, all: hopCount }));
  return annotatedAnswer;
}

/** Records that the request has reached its handler. */
export function beginHandler(): void {
  const ownHops = requestHops.getStore();
  if (!ownHops) return;
  ownHops.phase = 'handler';
  ownHops.hopCountBeforeHandler = ownHops.hopCount;
}

export const getPhase = (): Phase => requestHops.getStore()?.phase ?? 'afterwards';

/** Waits for the simulated latency, then makes a remote call. */
export async function callWithLatency<T>(call: () => Promise<T>): Promise<T> {
  const requestHop = requestHops.getStore();
  const hops = (requestHop?.hopCount ?? 0) + 1;
  if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
  try {
    return await call();
  } finally {
    if (requestHop) requestHop.hopCount = Math.max(requestHop.hopCount, hops);
  }
}
