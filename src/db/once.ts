import type { ControlDb } from './client.ts';

const readings = new WeakMap<ControlDb, Map<string, Promise<unknown>>>();

/**
 * Reads something once for a request, however often it is asked for: finding the resource that a permission is about and
 * answering it take one message.
 * @param what names it among all that a request reads this way
 */
export function once<T>(db: ControlDb, what: string, read: () => PromiseLike<T>): Promise<T> {
  const known = readings.get(db) ?? new Map<string, Promise<unknown>>();
  readings.set(db, known);
  const found = (known.get(what) as Promise<T> | undefined) ?? Promise.resolve(read());
  known.set(what, found);
  return found;
}
