/** Numbers from 0 to below 1 that are the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Choices that are the same for the same seed. */
export function createRandomChoices(seed: number) {
  const next = createRandom(seed);
  const upTo = (most: number) => Math.floor(next() * (most + 1));
  return {
    chance: (share: number) => next() < share,
    upTo,
    of: <T>(all: readonly T[]) => all[upTo(all.length - 1)] as T,
  };
}

export type Random = ReturnType<typeof createRandomChoices>;
