import { replaceMethods } from './enforce.ts';
import { requireStorable, requireStorableEntry } from './storable.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a class made of another one takes, in TypeScript.
type ObjectClass = new (...args: any[]) => object;

let isStorageLimited = false;

/** Storages of Durable Objects whose class has no alarm handler. */
const storagesWithoutAlarm = new WeakSet<object>();

/** Has the storage of every Durable Object refuse what the platform refuses. */
function limitStorage(storage: DurableObjectStorage): void {
  if (isStorageLimited) return;
  isStorageLimited = true;
  replaceMethods(storage.sql, ['exec'], (_, method) => {
    return function limited(this: SqlStorage, ...args) {
      requireStorable(String(args[0]), args.slice(1), 'objectValueBytes');
      return Reflect.apply(method, this, args);
    };
  });
  for (const keyValueStorage of [storage, storage.kv]) {
    replaceMethods(keyValueStorage, ['put'], (_, method) => {
      return function limited(this: object, ...args) {
        const [key, value] = args;
        if (typeof key === 'string') requireStorableEntry(key, value);
        else for (const entry of Object.entries(key as object)) requireStorableEntry(...entry);
        return Reflect.apply(method, this, args);
      };
    });
  }
  replaceMethods(storage, ['setAlarm'], (_, method) => {
    return async function limited(this: DurableObjectStorage, ...args) {
      if (storagesWithoutAlarm.has(this))
        throw new TypeError('The platform refuses alarms of a class without alarm().');
      return Reflect.apply(method, this, args);
    };
  });
}

/** Returns the class of Durable Objects with the platform's limits enforced on each of its objects. */
export const limitObject = <C extends ObjectClass>(ProductClass: C): C =>
  class extends ProductClass {
    // biome-ignore lint/suspicious/noExplicitAny: see `ObjectClass`.
    constructor(...[state, env]: any[]) {
      limitStorage(state.storage);
      if (!('alarm' in ProductClass.prototype)) storagesWithoutAlarm.add(state.storage);
      super(state, env);
    }
  };
