import { replaceMethods } from './enforce.ts';
import { requireStorable, requireStorableEntry } from './storable.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a class made of another one takes, in TypeScript.
type Class = new (...given: any[]) => object;

let isLimited = false;

/** The storages of objects whose class has no handler of alarms. */
const withoutAlarm = new WeakSet<object>();

/** Has the storage of every object refuse what the platform refuses. */
function limitStorage(storage: DurableObjectStorage): void {
  if (isLimited) return;
  isLimited = true;
  replaceMethods(storage.sql, ['exec'], (_, method) => {
    return function limited(this: SqlStorage, ...given) {
      requireStorable(String(given[0]), given.slice(1), 'objectValueBytes');
      return Reflect.apply(method, this, given);
    };
  });
  for (const keyed of [storage, storage.kv]) {
    replaceMethods(keyed, ['put'], (_, method) => {
      return function limited(this: object, ...given) {
        const [key, value] = given;
        if (typeof key === 'string') requireStorableEntry(key, value);
        else for (const entry of Object.entries(key as object)) requireStorableEntry(...entry);
        return Reflect.apply(method, this, given);
      };
    });
  }
  replaceMethods(storage, ['setAlarm'], (_, method) => {
    return async function limited(this: DurableObjectStorage, ...given) {
      if (withoutAlarm.has(this)) throw new TypeError('The platform refuses alarms of a class without alarm().');
      return Reflect.apply(method, this, given);
    };
  });
}

/** The class of Durable Objects, of which each refuses what the platform refuses. */
export const limitObject = <C extends Class>(Product: C): C =>
  class extends Product {
    // biome-ignore lint/suspicious/noExplicitAny: see `Class`.
    constructor(...[state, env]: any[]) {
      limitStorage(state.storage);
      if (!('alarm' in Product.prototype)) withoutAlarm.add(state.storage);
      super(state, env);
    }
  };
