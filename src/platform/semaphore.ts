/** A function that releases a permit; repeated calls have no effect. */
export type ReleasePermit = () => void;

export interface SemaphoreLimits {
  /** The number of permits. */
  permitCount: number;
  /** The maximum number of callers that may wait for a permit. */
  maxWaiting: number;
  /** The longest time that a caller waits. Milliseconds. */
  waitMs: number;
  /** The time after which a permit that is never released is free again: its holder may have died. Milliseconds. */
  holdMs: number;
}

/** A semaphore that is fair and has a bounded queue: callers beyond the bound are rejected at once. */
export class Semaphore {
  readonly #limits: SemaphoreLimits;
  /** The time at which each held permit ends by itself. The key is the permit's holder. */
  readonly #heldPermits = new Map<object, number>();
  readonly #waitingCallers: { begin(release: ReleasePermit | null): void }[] = [];

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** True if nobody holds a permit or waits for one. */
  get isIdle(): boolean {
    return this.#heldPermits.size === 0 && this.#waitingCallers.length === 0;
  }

  /** Waits for a permit. @returns the function that releases it; null when too many wait, or the wait was too long */
  async acquire(): Promise<ReleasePermit | null> {
    this.#expire(Date.now());
    if (this.#heldPermits.size < this.#limits.permitCount) return this.#grant();
    if (this.#waitingCallers.length >= this.#limits.maxWaiting) return null;
    const { promise, resolve } = Promise.withResolvers<ReleasePermit | null>();
    const waiter = { begin: resolve };
    this.#waitingCallers.push(waiter);
    // A timer of its own: whoever releases a permit belongs to another request, and may never do so.
    const timer = setTimeout(() => {
      this.#expire(Date.now());
      const index = this.#waitingCallers.indexOf(waiter);
      if (index >= 0) this.#waitingCallers.splice(index, 1);
      resolve(null);
    }, this.#limits.waitMs);
    const release = await promise;
    clearTimeout(timer);
    return release;
  }

  /** Acquires a permit at once, if one is free. */
  tryAcquire(): ReleasePermit | null {
    this.#expire(Date.now());
    return this.#heldPermits.size < this.#limits.permitCount ? this.#grant() : null;
  }

  /** Runs `work` under a permit. @throws the error that `createFullError` makes, where too many wait or the wait was too long */
  async runWithPermit<T>(work: () => Promise<T>, createFullError: () => Error): Promise<T> {
    const release = await this.acquire();
    if (!release) throw createFullError();
    try {
      return await work();
    } finally {
      release();
    }
  }

  #grant(): ReleasePermit {
    const holder = {};
    this.#heldPermits.set(holder, Date.now() + this.#limits.holdMs);
    return () => {
      if (this.#heldPermits.delete(holder)) this.#expire(Date.now());
    };
  }

  /** Ends expired permits, and grants free permits to waiting callers. */
  #expire(now: number): void {
    for (const [holder, endsAt] of this.#heldPermits) if (endsAt <= now) this.#heldPermits.delete(holder);
    while (this.#heldPermits.size < this.#limits.permitCount) {
      const nextWaiter = this.#waitingCallers.shift();
      if (nextWaiter === undefined) return;
      nextWaiter.begin(this.#grant());
    }
  }
}
