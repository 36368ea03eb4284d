import type { Bindings } from '../../src/config.ts';
import { OBJECT_BINDING_NAMES } from '../../src/objects/jurisdiction.ts';
import { addUse, callWithLatency, getPhase } from './meter.ts';

const meteredEnvironments = new WeakMap<Bindings, Bindings>();

/**
 * Returns the environment with every call that leaves the isolate counted, and calls of D1 and Durable Objects delayed.
 */
export function meterEnvironment(env: Bindings): Bindings {
  const meteredEnvironment = meteredEnvironments.get(env) ?? {
    ...env,
    CONTROL_DB: meterDatabase(env.CONTROL_DB),
    FILES: meterFiles(env.FILES),
    ...Object.fromEntries((Object.keys(QUEUE_NAMES) as QueueName[]).map((name) => [name, meterQueue(env[name])])),
    ...Object.fromEntries(OBJECT_BINDING_NAMES.map((name) => [name, meterObjects(name, env[name] as never)])),
  };
  meteredEnvironments.set(env, meteredEnvironment as Bindings);
  return meteredEnvironment as Bindings;
}

type QueueName = { [Name in keyof Bindings]: Bindings[Name] extends Queue ? Name : never }[keyof Bindings];

/** Names of all queue bindings: a missing one does not compile. */
const QUEUE_NAMES: Record<QueueName, true> = {
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

/** Meters D1: results report what a query used, except those of `raw`, for which the query runs a second time. */
function meterDatabase(database: D1Database): D1Database {
  const meterStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const { bind, all, raw, run } = statement;
    statement.bind = (...values) => meterStatement(bind.apply(statement, values));
    const countResult = (call: typeof all) =>
      callWithLatency(async () => {
        countQuery();
        const result = await call.apply(statement);
        count(result);
        return result;
      });
    const readRows = async (...options: unknown[]) => {
      countQuery();
      const isRead = /^\s*(?:select|with)\b/i.test(Reflect.get(statement, 'statement') ?? 'select');
      const countedResult = await all.apply(statement);
      count(countedResult);
      // What is written must not be written twice; what it returns is of one table, so that no two columns share a name.
      if (!isRead) return countedResult.results.map((row) => Object.values(row as object));
      return raw.apply(statement, options as never);
    };
    return Object.assign(statement, {
      all: () => countResult(all),
      run: () => countResult(run),
      raw: (...options: unknown[]) => callWithLatency(() => readRows(...options)),
    });
  };
  const openMeteredSession = (constraint: string) => {
    const session = database.withSession(constraint);
    return {
      prepare: (sql: string) => meterStatement(session.prepare(sql)),
      batch: (statements: D1PreparedStatement[]) =>
        callWithLatency(async () => {
          countQuery();
          const results = await session.batch(statements);
          results.forEach(count);
          return results;
        }),
      getBookmark: () => session.getBookmark(),
    };
  };
  return { withSession: openMeteredSession } as unknown as D1Database;
}

/** Names of the logs that records were appended to. */
export const appendedLogs = new Set<string>();

/** Counts each call of a stub as one request to its object; the measured duration includes the call's transport. */
function meterObjects(name: string, namespace: DurableObjectNamespace<never>): unknown {
  const makeMeteredStub = (id: string) => {
    const object = (namespace as unknown as DurableObjectNamespace).getByName(id);
    return new Proxy(object, {
      get: (target, method) => {
        const call = Reflect.get(target, method);
        if (typeof call !== 'function') return call;
        return (...args: unknown[]) =>
          callWithLatency(async () => {
            addUse('objects.requests');
            addUse(`objects.requests.${name}`);
            addUse(`calls ${name} ${id}`);
            if (name === 'COMPANY_LOG' && method === 'appendAll') {
              appendedLogs.add(id);
              addUse('objects.records', Object.values(args[1] as Record<string, unknown[]>).flat().length);
            }
            const startedAt = performance.now();
            try {
              return await Reflect.apply(call, target, args);
            } finally {
              addUse('objects.milliseconds', performance.now() - startedAt);
            }
          });
      },
    });
  };
  return { getByName: makeMeteredStub, jurisdiction: () => ({ getByName: makeMeteredStub }) };
}

/** Number of billed operations for each 64 KB of a message: one write, one read and one delete. */
const OPERATIONS_PER_MESSAGE = 3;
const MESSAGE_UNIT_BYTES = 64 * 1024;

function meterQueue(queue: Queue): unknown {
  const countOperations = (body: unknown) =>
    OPERATIONS_PER_MESSAGE * Math.max(1, Math.ceil(JSON.stringify(body).length / MESSAGE_UNIT_BYTES));
  return {
    send: (body: unknown, ...sendOptions: []) => {
      addUse('queues.operations', countOperations(body));
      return queue.send(body, ...sendOptions);
    },
    sendBatch: (messages: MessageSendRequest[], ...batchOptions: []) => {
      for (const { body } of messages) addUse('queues.operations', countOperations(body));
      return queue.sendBatch(messages, ...batchOptions);
    },
  };
}

/** R2 methods by the billing class of their operations, A or B. Deleting is free. */
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
      return (...args: unknown[]) => {
        const operationClass = OPERATION_CLASSES[String(name)];
        if (operationClass) addUse(`r2.${operationClass}`);
        return Reflect.apply(value, target, args);
      };
    },
  });
}
