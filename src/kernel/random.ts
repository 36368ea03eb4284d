const RANGE = 2 ** 32;

/** A random whole number from 0 to below `limit` (at most 2^32), each equally likely; fit for secrets. */
export function randomBelow(limit: number): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
  // Numbers past the last whole multiple would make the small ones likelier.
  return random < RANGE - (RANGE % limit) ? random % limit : randomBelow(limit);
}
