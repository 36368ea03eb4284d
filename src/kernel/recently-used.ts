/** A least-recently-used cache: it drops the entries read longest ago once the total weight exceeds its capacity. */
export class RecentlyUsed<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  readonly #measureAddedEntry: (key: Key, value: Value) => number;
  readonly #measureRemovedEntry: (key: Key, value: Value) => number;
  #weight = 0;

  /**
   * @param measureAddedEntry returns an entry's weight, by default 1. @param measureRemovedEntry returns the weight freed on removal, where
   * entries have parts in common
   */
  constructor(
    capacity: number,
    measureAddedEntry: (key: Key, value: Value) => number = () => 1,
    measureRemovedEntry = measureAddedEntry,
  ) {
    this.#capacity = capacity;
    this.#measureAddedEntry = measureAddedEntry;
    this.#measureRemovedEntry = measureRemovedEntry;
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
    this.#weight += this.#measureAddedEntry(key, value);
    for (const oldestKey of this.#entries.keys()) {
      if (this.#weight <= this.#capacity) return;
      this.delete(oldestKey);
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#weight -= this.#measureRemovedEntry(key, value);
    this.#entries.delete(key);
  }
}
