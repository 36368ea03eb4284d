import { AsyncLocalStorage } from 'node:async_hooks';

/** What was used since the last look, by name: `d1.rowsWritten`. */
const usedSinceLastLook = new Map<string, number>();

export function addUse(name: string, amount = 1): void {
  usedSinceLastLook.set(name, (usedSinceLastLook.get(name) ?? 0) + amount);
}

/** Counts what a cursor has read once it ends, within the turn: thousands kept longer would keep objects in memory. */
export function useCursor(of: string, cursor: { rowsRead: number; rowsWritten: number }): void {
  queueMicrotask(() => {
    addUse(`${of}.rowsRead`, cursor.rowsRead);
    addUse(`${of}.rowsWritten`, cursor.rowsWritten);
  });
}

/** What was used since the last call of this. */
export function takeUsage(): Record<string, number> {
  const taken = Object.fromEntries([...usedSinceLastLook].filter(([, amount]) => amount > 0));
  usedSinceLastLook.clear();
  return taken;
}

/** Whether D1 is asked to let a request in, by its handler, or behind its answer. */
type Phase = 'entrance' | 'handler' | 'afterwards';

/** What one request has asked of what may be far away. */
interface Journey {
  phase: Phase;
  /** The longest chain of calls, each begun after the answer of the one before. */
  hops: number;
  /** What that was when the handler began. */
  before: number | null;
}

const journeys = new AsyncLocalStorage<Journey>();

let distance = 0;

/** Puts D1 and every Durable Object that far away, there and back. */
export function setDistance(milliseconds: number): void {
  distance = milliseconds;
}

/** Follows a request. @returns its answer, with what it asked before its handler and in all */
export async function followRequest(work: () => Promise<Response>): Promise<Response> {
  const journey: Journey = { phase: 'entrance', hops: 0, before: null };
  const answer = await journeys.run(journey, work);
  const { before, hops } = journey;
  journey.phase = 'afterwards';
  const told = new Response(answer.body, answer);
  told.headers.set('x-hops', JSON.stringify({ before: before ?? hops, all: hops }));
  return told;
}

/** The request has come to its handler. */
export function beginHandler(): void {
  const journey = journeys.getStore();
  if (!journey) return;
  journey.phase = 'handler';
  journey.before = journey.hops;
}

export const getPhase = (): Phase => journeys.getStore()?.phase ?? 'afterwards';

/** Goes the way to what is far away, and makes a call there. */
export async function callFromAfar<T>(call: () => Promise<T>): Promise<T> {
  const journey = journeys.getStore();
  const hops = (journey?.hops ?? 0) + 1;
  if (distance > 0) await new Promise((resolve) => setTimeout(resolve, distance));
  try {
    return await call();
  } finally {
    if (journey) journey.hops = Math.max(journey.hops, hops);
  }
}
