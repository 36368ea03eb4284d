import type { Bindings } from '../../src/config.ts';
import { OBJECT_NAMES } from '../../src/objects/jurisdiction.ts';
import { addUse, callFromAfar, getPhase } from './meter.ts';

const known = new WeakMap<Bindings, Bindings>();

/** The environment with whatever leaves the isolate counted, and the ways to D1 and Durable Objects made longer. */
export function meterEnvironment(env: Bindings): Bindings {
  const made = known.get(env) ?? {
    ...env,
    CONTROL_DB: meterDatabase(env.CONTROL_DB),
    FILES: meterFiles(env.FILES),
    ...Object.fromEntries((Object.keys(QUEUES) as QueueName[]).map((name) => [name, meterQueue(env[name])])),
    ...Object.fromEntries(OBJECT_NAMES.map((name) => [name, meterObjects(name, env[name] as never)])),
  };
  known.set(env, made as Bindings);
  return made as Bindings;
}

type QueueName = { [Name in keyof Bindings]: Bindings[Name] extends Queue ? Name : never }[keyof Bindings];

/** All of them: one that is left out does not compile. */
const QUEUES: Record<QueueName, true> = {
  JOBS: true,
  MODEL_JOBS: true,
  RECHECKS: true,
  DATA_JOBS: true,
  SCHEDULES: true,
  AUDIT: true,
  SHARE_EVENTS: true,
  WEBHOOKS: true,
};

function count({ meta }: D1Result): void {
  addUse('d1.rowsRead', meta.rows_read ?? 0);
  addUse('d1.rowsWritten', meta.rows_written ?? 0);
}

function countQuery(): void {
  addUse('d1.queries');
  addUse(`d1.queries.${getPhase()}`);
}

/** D1 tells what a query used in its results, but for `raw`, which is asked once more for its sake. */
function meterDatabase(database: D1Database): D1Database {
  const counted = (statement: D1PreparedStatement): D1PreparedStatement => {
    const { bind, all, raw, run } = statement;
    statement.bind = (...values) => counted(bind.apply(statement, values));
    const telling = (call: typeof all) =>
      callFromAfar(async () => {
        countQuery();
        const result = await call.apply(statement);
        count(result);
        return result;
      });
    const rows = async (...options: unknown[]) => {
      countQuery();
      const isRead = /^\s*(?:select|with)\b/i.test(Reflect.get(statement, 'statement') ?? 'select');
      const told = await all.apply(statement);
      count(told);
      // What is written must not be written twice; what it returns is of one table, so that no two columns share a name.
      if (!isRead) return told.results.map((row) => Object.values(row as object));
      return raw.apply(statement, options as never);
    };
    return Object.assign(statement, {
      all: () => telling(all),
      run: () => telling(run),
      raw: (...options: unknown[]) => callFromAfar(() => rows(...options)),
    });
  };
  const withSession = (constraint: string) => {
    const session = database.withSession(constraint);
    return {
      prepare: (sql: string) => counted(session.prepare(sql)),
      batch: (statements: D1PreparedStatement[]) =>
        callFromAfar(async () => {
          countQuery();
          const results = await session.batch(statements);
          results.forEach(count);
          return results;
        }),
      getBookmark: () => session.getBookmark(),
    };
  };
  return { withSession } as unknown as D1Database;
}

/** Whose logs have been fed. */
export const logs = new Set<string>();

/** Each call of a stub is a request to its object; how long it took is more than it lasted there. */
function meterObjects(name: string, namespace: DurableObjectNamespace<never>): unknown {
  const stub = (id: string) => {
    const object = (namespace as unknown as DurableObjectNamespace).getByName(id);
    return new Proxy(object, {
      get: (target, method) => {
        const call = Reflect.get(target, method);
        if (typeof call !== 'function') return call;
        return (...given: unknown[]) =>
          callFromAfar(async () => {
            addUse('objects.requests');
            addUse(`objects.requests.${name}`);
            addUse(`calls ${name} ${id}`);
            if (name === 'COMPANY_LOG' && method === 'appendAll') {
              logs.add(id);
              addUse('objects.records', Object.values(given[1] as Record<string, unknown[]>).flat().length);
            }
            const before = performance.now();
            try {
              return await Reflect.apply(call, target, given);
            } finally {
              addUse('objects.milliseconds', performance.now() - before);
            }
          });
      },
    });
  };
  return { getByName: stub, jurisdiction: () => ({ getByName: stub }) };
}

/** A message is written, read and deleted: three operations for each 64 KB of it. */
const OPERATIONS_PER_MESSAGE = 3;
const MESSAGE_UNIT_BYTES = 64 * 1024;

function meterQueue(queue: Queue): unknown {
  const operations = (body: unknown) =>
    OPERATIONS_PER_MESSAGE * Math.max(1, Math.ceil(JSON.stringify(body).length / MESSAGE_UNIT_BYTES));
  return {
    send: (body: unknown, ...rest: []) => {
      addUse('queues.operations', operations(body));
      return queue.send(body, ...rest);
    },
    sendBatch: (messages: MessageSendRequest[], ...rest: []) => {
      for (const { body } of messages) addUse('queues.operations', operations(body));
      return queue.sendBatch(messages, ...rest);
    },
  };
}

/** What R2 counts as operations of class A, and of class B. Deleting is free. */
const OPERATION_CLASSES: Record<string, string> = {
  put: 'a',
  list: 'a',
  createMultipartUpload: 'a',
  get: 'b',
  head: 'b',
};

function meterFiles(bucket: R2Bucket): R2Bucket {
  return new Proxy(bucket, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        const of = OPERATION_CLASSES[String(name)];
        if (of) addUse(`r2.${of}`);
        return Reflect.apply(value, target, given);
      };
    },
  });
}
