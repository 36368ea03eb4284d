const R2 = 'https://developers.cloudflare.com/r2';
const D1 = 'https://developers.cloudflare.com/d1/platform/limits/';
const QUEUES = 'https://developers.cloudflare.com/queues/platform/limits/';
const OBJECTS = 'https://developers.cloudflare.com/durable-objects';
const WORKERS = 'https://developers.cloudflare.com/workers/platform/limits/';

/** A limit of the platform, where it is documented, and who refuses on this machine what passes it. */
interface Limit {
  what: string;
  value: number;
  document: string;
  /** `workerd`: the runtime and Miniflare do so themselves. `here`: this folder does. */
  by: 'workerd' | 'here' | 'npm run test:memory';
}

/** What the platform refuses and this code could ask for. `test/limits` holds each line. */
export const LIMITS = {
  keysOfDelete: {
    what: 'keys of one deletion, and not none',
    value: 1_000,
    document: `${R2}/api/workers/workers-api-reference/`,
    by: 'here',
  },
  keyBytes: { what: 'bytes of a key', value: 1_024, document: `${R2}/platform/limits/`, by: 'workerd' },
  partBytes: {
    what: 'least bytes of a part of a multipart upload; all but the last are of one size',
    value: 5 * 1024 * 1024,
    document: `${R2}/objects/multipart-objects/`,
    by: 'workerd',
  },
  parameters: { what: 'bound parameters of a statement', value: 100, document: D1, by: 'workerd' },
  statementBytes: { what: 'bytes of a statement', value: 100_000, document: D1, by: 'workerd' },
  patternBytes: { what: 'bytes of a pattern of LIKE or GLOB', value: 50, document: D1, by: 'workerd' },
  valueBytes: { what: 'bytes of a value, and of a row', value: 2_000_000, document: D1, by: 'here' },
  queries: { what: 'queries of one invocation', value: 1_000, document: D1, by: 'here' },
  messageBytes: { what: 'bytes of a message', value: 128_000, document: QUEUES, by: 'workerd' },
  messagesOfBatch: { what: 'messages that are sent at once', value: 100, document: QUEUES, by: 'workerd' },
  batchBytes: { what: 'bytes that are sent at once', value: 256_000, document: QUEUES, by: 'here' },
  objectValueBytes: {
    what: 'bytes of a value, and of a row, in the SQL of an object',
    value: 2_000_000,
    document: `${OBJECTS}/platform/limits/`,
    by: 'here',
  },
  objectEntryBytes: {
    what: 'bytes of a key and its value in the storage of an object',
    value: 2_000_000,
    document: `${OBJECTS}/platform/limits/`,
    by: 'here',
  },
  alarms: {
    what: 'least time of an alarm (ms), of a class that has a handler of it',
    value: 1,
    document: `${OBJECTS}/api/alarms/`,
    by: 'here',
  },
  connections: {
    what: 'connections of one invocation that wait for an answer; further ones wait for their turn',
    value: 6,
    document: `${WORKERS}#simultaneous-open-connections`,
    by: 'here',
  },
  subrequests: {
    what: 'requests of one invocation to others and to the platform',
    value: 10_000,
    document: `${WORKERS}#subrequests`,
    by: 'here',
  },
  memory: { what: 'megabytes of an isolate', value: 128, document: `${WORKERS}#memory`, by: 'npm run test:memory' },
} as const satisfies Record<string, Limit>;

/** What was asked for passes a limit. */
export class PastLimit extends Error {
  constructor(limit: keyof typeof LIMITS, found: number) {
    const { what, value, document } = LIMITS[limit];
    super(`The platform refuses this: ${found}, where the limit is ${value} ${what} (${document}).`);
  }
}
