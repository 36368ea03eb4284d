import { setTimeout as sleep } from 'node:timers/promises';

/** What Neon takes for suspending and waking a compute, in milliseconds. */
const DEFAULTS = { idle: 5 * 60_000, waking: 500 };

interface Compute {
  connections: number;
  /** When the last connection ended. */
  usedAt: number;
  /** How long it takes to wake; it sleeps if that is set. */
  asleep?: number;
  awake?: Promise<void>;
}

/**
 * The computes of the projects. One without connections for five minutes is suspended, and the next connection wakes it:
 * like Neon's proxy, the tunnel takes the connection at once and holds what is sent over it until then.
 */
export class Computes {
  readonly #computes = new Map<string, Compute>();

  /** A connection begins. @returns what it waits for, and what to call at its end */
  connect(projectName: string): { awake: Promise<void> | undefined; end(): void } {
    const compute = this.#of(projectName);
    const isIdle = compute.connections === 0 && Date.now() - compute.usedAt > DEFAULTS.idle;
    const waking = compute.asleep ?? (isIdle ? DEFAULTS.waking : undefined);
    if (waking !== undefined) {
      delete compute.asleep;
      compute.awake = sleep(waking).then(() => {
        delete compute.awake;
      });
    }
    compute.connections += 1;
    return {
      awake: compute.awake,
      end: () => {
        compute.connections -= 1;
        compute.usedAt = Date.now();
      },
    };
  }

  /** Suspends a project's compute, as if nobody had used it. @param waking how long it takes to wake, in milliseconds */
  suspend(projectName: string, waking: number): void {
    this.#of(projectName).asleep = waking;
  }

  /** As Neon's API calls it. */
  stateOf(projectName: string): 'idle' | 'init' | 'active' {
    const { asleep, awake } = this.#of(projectName);
    if (asleep !== undefined) return 'idle';
    return awake === undefined ? 'active' : 'init';
  }

  /** What tests are told: its state, and how many connections are open. */
  told(projectName: string): { state: 'idle' | 'init' | 'active'; connections: number } {
    return { state: this.stateOf(projectName), connections: this.#of(projectName).connections };
  }

  #of(projectName: string): Compute {
    const compute = this.#computes.get(projectName) ?? { connections: 0, usedAt: Date.now() };
    this.#computes.set(projectName, compute);
    return compute;
  }
}
