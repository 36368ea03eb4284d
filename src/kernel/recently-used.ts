/** A map that forgets the entries that were longest not read, as soon as its entries together weigh more than it may hold. */
export class RecentlyUsed<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  readonly #added: (key: Key, value: Value) => number;
  readonly #forgotten: (key: Key, value: Value) => number;
  #weight = 0;

  /** @param added an entry's weight, by default 1. @param forgotten what is freed where entries have parts in common */
  constructor(capacity: number, added: (key: Key, value: Value) => number = () => 1, forgotten = added) {
    this.#capacity = capacity;
    this.#added = added;
    this.#forgotten = forgotten;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    // A Map keeps the order of insertion: its first entry is the one longest not asked for.
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#added(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#weight -= this.#forgotten(key, value);
    this.#entries.delete(key);
  }
}
