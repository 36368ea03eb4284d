/** Has the bindings of this isolate refuse what the platform refuses. Only tests and `npm start` import it. */
import { env } from 'cloudflare:workers';
import type { Bindings } from '../../src/config.ts';
import { countQuery, openWithinLimit } from './invocation.ts';
import { LIMITS, PastLimit } from './limits.ts';
import { requireStorable } from './storable.ts';

type ObjectMethod = (...given: unknown[]) => unknown;

/** Replaces methods of the class of `example`. */
export function replaceMethods(
  example: object,
  names: readonly string[],
  by: (name: string, method: ObjectMethod) => ObjectMethod,
): void {
  const prototype = Object.getPrototypeOf(example) as Record<string, ObjectMethod>;
  for (const name of names) prototype[name] = by(name, prototype[name] as ObjectMethod);
}

const { FILES, CONTROL_DB, AUDIT } = env as unknown as Bindings;

replaceMethods(FILES, ['get', 'head', 'put', 'list', 'delete', 'createMultipartUpload'], (name, method) => {
  return async function limited(this: R2Bucket, ...given) {
    const keys = given[0];
    if (name === 'delete' && Array.isArray(keys)) {
      if (keys.length === 0 || keys.length > LIMITS.keysOfDelete.value)
        throw new PastLimit('keysOfDelete', keys.length);
    }
    return openWithinLimit(async () => Reflect.apply(method, this, given));
  };
});

const measureSize = (body: unknown): number => Buffer.byteLength(JSON.stringify(body) ?? '');

replaceMethods(AUDIT, ['send', 'sendBatch'], (name, method) => {
  return async function limited(this: Queue, ...given) {
    if (name === 'sendBatch') {
      const messages = [...(given[0] as Iterable<MessageSendRequest>)];
      const bytes = messages.reduce((sum, { body }) => sum + measureSize(body), 0);
      if (bytes > LIMITS.batchBytes.value) throw new PastLimit('batchBytes', bytes);
      return openWithinLimit(async () => Reflect.apply(method, this, [messages, ...given.slice(1)]));
    }
    return openWithinLimit(async () => Reflect.apply(method, this, given));
  };
});

/** Why a statement cannot be run, which its database says when it is. */
const refusedStatements = new WeakMap<object, unknown>();

const statement = CONTROL_DB.prepare('select 1');

replaceMethods(statement, ['bind'], (_, method) => {
  return function limited(this: D1PreparedStatement, ...values) {
    const bound = Reflect.apply(method, this, values) as D1PreparedStatement;
    try {
      requireStorable(String((this as unknown as { statement?: string }).statement), values, 'valueBytes');
    } catch (error) {
      refusedStatements.set(bound, error);
    }
    return bound;
  };
});

function requireRunnable(statements: readonly object[]): void {
  for (const each of statements) if (refusedStatements.has(each)) throw refusedStatements.get(each);
  countQuery();
}

replaceMethods(statement, ['all', 'raw', 'run', 'first'], (_, method) => {
  return async function limited(this: D1PreparedStatement, ...given) {
    requireRunnable([this]);
    return Reflect.apply(method, this, given);
  };
});

for (const database of [CONTROL_DB, CONTROL_DB.withSession()]) {
  replaceMethods(database, ['batch'], (_, method) => {
    return async function limited(this: object, ...given) {
      requireRunnable(given[0] as D1PreparedStatement[]);
      return Reflect.apply(method, this, given);
    };
  });
}

replaceMethods(caches.default, ['match', 'put', 'delete'], (_, method) => {
  return async function limited(this: Cache, ...given) {
    return openWithinLimit(async () => Reflect.apply(method, this, given));
  };
});

const { fetch } = globalThis;
globalThis.fetch = (...given: Parameters<typeof fetch>) => openWithinLimit(() => fetch(...given));
