/** Has the bindings of this isolate refuse what the platform refuses. Only tests and `npm start` import it. */
import { env } from 'cloudflare:workers';
import type { Bindings } from '../../src/config.ts';
import { countQuery, openWithinLimit } from './invocation.ts';
import { LIMITS, LimitExceededError } from './limits.ts';
import { requireStorable } from './storable.ts';

type ObjectMethod = (...args: unknown[]) => unknown;

/** Replaces methods on the class of `example` by versions that enforce limits. */
export function replaceMethods(
  example: object,
  names: readonly string[],
  wrapMethod: (name: string, method: ObjectMethod) => ObjectMethod,
): void {
  const prototype = Object.getPrototypeOf(example) as Record<string, ObjectMethod>;
  for (const name of names) prototype[name] = wrapMethod(name, prototype[name] as ObjectMethod);
}

const { FILES, CONTROL_DB, AUDIT } = env as unknown as Bindings;

replaceMethods(FILES, ['get', 'head', 'put', 'list', 'delete', 'createMultipartUpload'], (name, method) => {
  return async function limited(this: R2Bucket, ...args) {
    const keys = args[0];
    if (name === 'delete' && Array.isArray(keys)) {
      if (keys.length === 0 || keys.length > LIMITS.keysOfDelete.value)
        throw new LimitExceededError('keysOfDelete', keys.length);
    }
    return openWithinLimit(async () => Reflect.apply(method, this, args));
  };
});

const measureSize = (body: unknown): number => Buffer.byteLength(JSON.stringify(body) ?? '');

replaceMethods(AUDIT, ['send', 'sendBatch'], (name, method) => {
  return async function limited(this: Queue, ...args) {
    if (name === 'sendBatch') {
      const messages = [...(args[0] as Iterable<MessageSendRequest>)];
      const bytes = messages.reduce((sum, { body }) => sum + measureSize(body), 0);
      if (bytes > LIMITS.batchBytes.value) throw new LimitExceededError('batchBytes', bytes);
      return openWithinLimit(async () => Reflect.apply(method, this, [messages, ...args.slice(1)]));
    }
    return openWithinLimit(async () => Reflect.apply(method, this, args));
  };
});

/** Errors of statements that cannot be run, which their database throws when they are run. */
const statementErrors = new WeakMap<object, unknown>();

const exampleStatement = CONTROL_DB.prepare('select 1');

replaceMethods(exampleStatement, ['bind'], (_, method) => {
  return function limited(this: D1PreparedStatement, ...values) {
    const boundStatement = Reflect.apply(method, this, values) as D1PreparedStatement;
    try {
      requireStorable(String((this as unknown as { statement?: string }).statement), values, 'valueBytes');
    } catch (error) {
      statementErrors.set(boundStatement, error);
    }
    return boundStatement;
  };
});

function requireRunnable(statements: readonly object[]): void {
  for (const statement of statements) if (statementErrors.has(statement)) throw statementErrors.get(statement);
  countQuery();
}

replaceMethods(exampleStatement, ['all', 'raw', 'run', 'first'], (_, method) => {
  return async function limited(this: D1PreparedStatement, ...args) {
    requireRunnable([this]);
    return Reflect.apply(method, this, args);
  };
});

for (const database of [CONTROL_DB, CONTROL_DB.withSession()]) {
  replaceMethods(database, ['batch'], (_, method) => {
    return async function limited(this: object, ...args) {
      requireRunnable(args[0] as D1PreparedStatement[]);
      return Reflect.apply(method, this, args);
    };
  });
}

replaceMethods(caches.default, ['match', 'put', 'delete'], (_, method) => {
  return async function limited(this: Cache, ...args) {
    return openWithinLimit(async () => Reflect.apply(method, this, args));
  };
});

const { fetch } = globalThis;
globalThis.fetch = (...args: Parameters<typeof fetch>) => openWithinLimit(() => fetch(...args));
