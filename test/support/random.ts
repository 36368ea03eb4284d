/** Creates a generator of numbers from 0 to below 1 that are the same for the same seed (mulberry32). */
export function createRandomGenerator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixedState = Math.imul(state ^ (state >>> 15), 1 | state);
    mixedState = (mixedState + Math.imul(mixedState ^ (mixedState >>> 7), 61 | mixedState)) ^ mixedState;
    return ((mixedState ^ (mixedState >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Creates functions for random choices that are the same for the same seed. */
export function createRandomChoices(seed: number) {
  const drawFraction = createRandomGenerator(seed);
  const pickInteger = (maximum: number) => Math.floor(drawFraction() * (maximum + 1));
  return {
    chance: (probability: number) => drawFraction() < probability,
    upTo: pickInteger,
    of: <T>(choices: readonly T[]) => choices[pickInteger(choices.length - 1)] as T,
  };
}

export type RandomChoices = ReturnType<typeof createRandomChoices>;
