import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds after which an idle compute is suspended (`idle`), and that waking one takes (`waking`). */
const DEFAULT_MS = { idle: 5 * 60_000, waking: 500 };

interface Compute {
  connectionCount: number;
  /** Time at which the last connection ended. */
  lastUsedAt: number;
  /** Milliseconds that waking takes; the compute sleeps if this is set. */
  wakingMs?: number;
  wakingPromise?: Promise<void>;
}

/**
 * The computes of the projects. One without connections for five minutes is suspended, and the next connection wakes it:
 * like Neon's proxy, the tunnel takes the connection at once and holds what is sent over it until then.
 */
export class Computes {
  readonly #computes = new Map<string, Compute>();

  /** Counts a new connection. @returns the promise that it waits for, and the function to call at its end */
  beginConnection(projectName: string): { wakingPromise: Promise<void> | undefined; endConnection(): void } {
    const compute = this.#getCompute(projectName);
    const isIdle = compute.connectionCount === 0 && Date.now() - compute.lastUsedAt > DEFAULT_MS.idle;
    const wakingMs = compute.wakingMs ?? (isIdle ? DEFAULT_MS.waking : undefined);
    if (wakingMs !== undefined) {
      delete compute.wakingMs;
      compute.wakingPromise = sleep(wakingMs).then(() => {
        delete compute.wakingPromise;
      });
    }
    compute.connectionCount += 1;
    return {
      wakingPromise: compute.wakingPromise,
      endConnection: () => {
        compute.connectionCount -= 1;
        compute.lastUsedAt = Date.now();
      },
    };
  }

  /** Suspends a project's compute, as if it had been idle. @param suspendedWakingMs how long it takes to wake, in milliseconds */
  suspend(projectName: string, suspendedWakingMs: number): void {
    this.#getCompute(projectName).wakingMs = suspendedWakingMs;
  }

  /** Returns the state of a compute in the words of Neon's API. */
  getState(projectName: string): 'idle' | 'init' | 'active' {
    const { wakingMs, wakingPromise } = this.#getCompute(projectName);
    if (wakingMs !== undefined) return 'idle';
    return wakingPromise === undefined ? 'active' : 'init';
  }

  /** Returns the status that tests read: state, and number of open connections. */
  getStatus(projectName: string): { state: 'idle' | 'init' | 'active'; connections: number } {
    return { state: this.getState(projectName), connections: this.#getCompute(projectName).connectionCount };
  }

  #getCompute(projectName: string): Compute {
    const compute = this.#computes.get(projectName) ?? { connectionCount: 0, lastUsedAt: Date.now() };
    this.#computes.set(projectName, compute);
    return compute;
  }
}
