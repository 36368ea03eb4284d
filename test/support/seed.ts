import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The seed of random tests: the same seed makes the same tests. `RANDOM_SEED` sets another seed. */
    seed: number;
  }
}

fc.configureGlobal({ seed: inject('seed') });
