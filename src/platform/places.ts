/** Gives a place back; more than once is once. */
export type Leave = () => void;

export interface PlaceLimits {
  /** How many places there are. */
  places: number;
  /** How many may wait for one. */
  waiting: number;
  /** How long one waits. Milliseconds. */
  waitMs: number;
  /** When a place that is never given back is free again: who held it may be gone without a word. Milliseconds. */
  placeMs: number;
}

/** Places that are given in the order of asking, with a bounded queue: what is beyond it is turned away at once. */
export class Places {
  readonly #limits: PlaceLimits;
  /** When each place that is taken ends by itself, by its holder. */
  readonly #taken = new Map<object, number>();
  readonly #waiting: { begin(leave: Leave | null): void }[] = [];

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /** Whether nobody has a place or waits for one. */
  get isIdle(): boolean {
    return this.#taken.size === 0 && this.#waiting.length === 0;
  }

  /** Waits for a place. @returns what gives it back; null when too many wait, or the wait was too long */
  async take(): Promise<Leave | null> {
    this.#free(Date.now());
    if (this.#taken.size < this.#limits.places) return this.#give();
    if (this.#waiting.length >= this.#limits.waiting) return null;
    const { promise, resolve } = Promise.withResolvers<Leave | null>();
    const waiter = { begin: resolve };
    this.#waiting.push(waiter);
    // A timer of its own: whoever gives a place back belongs to another request, and may never do so.
    const timer = setTimeout(() => {
      this.#free(Date.now());
      const place = this.#waiting.indexOf(waiter);
      if (place >= 0) this.#waiting.splice(place, 1);
      resolve(null);
    }, this.#limits.waitMs);
    const leave = await promise;
    clearTimeout(timer);
    return leave;
  }

  /** Takes a place that nobody waits for, if there is one. */
  takeFree(): Leave | null {
    this.#free(Date.now());
    return this.#taken.size < this.#limits.places ? this.#give() : null;
  }

  /**
   * Runs `work` in a place.
   * @throws what `full` makes, where too many wait or the wait was too long
   */
  async run<T>(work: () => Promise<T>, full: () => Error): Promise<T> {
    const leave = await this.take();
    if (!leave) throw full();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  #give(): Leave {
    const holder = {};
    this.#taken.set(holder, Date.now() + this.#limits.placeMs);
    return () => {
      if (this.#taken.delete(holder)) this.#free(Date.now());
    };
  }

  /** Ends what ran out, and gives what is free to those who wait. */
  #free(now: number): void {
    for (const [holder, endsAt] of this.#taken) if (endsAt <= now) this.#taken.delete(holder);
    while (this.#taken.size < this.#limits.places) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      next.begin(this.#give());
    }
  }
}
