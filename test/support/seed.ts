import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** What random tests are made from: the same seed, the same tests. `RANDOM_SEED` names another one. */
    seed: number;
  }
}

fc.configureGlobal({ seed: inject('seed') });
