/** Gives a permit back; more than once is once. */
export type Release = () => void;

export interface SemaphoreLimits {
  /** The number of permits. */
  permits: number;
  /** The maximum number of callers that may wait for a permit. */
  maxWaiting: number;
  /** The longest time that a caller waits. Milliseconds. */
  waitMs: number;
  /** The time after which a permit that is never released is free again: its holder may be gone without a word. Milliseconds. */
  holdMs: number;
}

/** A semaphore that is fair and has a bounded queue: whoever comes beyond it is turned away at once. */
export class Semaphore {
  readonly #limits: SemaphoreLimits;
  /** The time at which each held permit ends by itself, by its holder. */
  readonly #held = new Map<object, number>();
  readonly #waiting: { begin(release: Release | null): void }[] = [];

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** Whether nobody holds a permit or waits for one. */
  get isIdle(): boolean {
    return this.#held.size === 0 && this.#waiting.length === 0;
  }

  /** Waits for a permit. @returns the function that releases it; null when too many wait, or the wait was too long */
  async acquire(): Promise<Release | null> {
    this.#expire(Date.now());
    if (this.#held.size < this.#limits.permits) return this.#grant();
    if (this.#waiting.length >= this.#limits.maxWaiting) return null;
    const { promise, resolve } = Promise.withResolvers<Release | null>();
    const waiter = { begin: resolve };
    this.#waiting.push(waiter);
    // A timer of its own: whoever releases a permit belongs to another request, and may never do so.
    const timer = setTimeout(() => {
      this.#expire(Date.now());
      const place = this.#waiting.indexOf(waiter);
      if (place >= 0) this.#waiting.splice(place, 1);
      resolve(null);
    }, this.#limits.waitMs);
    const release = await promise;
    clearTimeout(timer);
    return release;
  }

  /** Takes a permit that nobody waits for, if there is one. */
  tryAcquire(): Release | null {
    this.#expire(Date.now());
    return this.#held.size < this.#limits.permits ? this.#grant() : null;
  }

  /** Runs `work` under a permit. @throws what `full` makes, where too many wait or the wait was too long */
  async run<T>(work: () => Promise<T>, full: () => Error): Promise<T> {
    const release = await this.acquire();
    if (!release) throw full();
    try {
      return await work();
    } finally {
      release();
    }
  }

  #grant(): Release {
    const holder = {};
    this.#held.set(holder, Date.now() + this.#limits.holdMs);
    return () => {
      if (this.#held.delete(holder)) this.#expire(Date.now());
    };
  }

  /** Ends permits that ran out, and grants free ones to those who wait. */
  #expire(now: number): void {
    for (const [holder, endsAt] of this.#held) if (endsAt <= now) this.#held.delete(holder);
    while (this.#held.size < this.#limits.permits) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next.begin(this.#grant());
    }
  }
}
