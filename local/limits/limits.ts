const R2 = 'https://developers.cloudflare.com/r2';
const D1 = 'https://developers.cloudflare.com/d1/platform/limits/';
const QUEUE_LIMITS_URL = 'https://developers.cloudflare.com/queues/platform/limits/';
const OBJECTS_URL = 'https://developers.cloudflare.com/durable-objects';
const WORKER_LIMITS_URL = 'https://developers.cloudflare.com/workers/platform/limits/';

/** Limit of the platform, the page that documents it, and the part that enforces it on this machine. */
interface PlatformLimit {
  what: string;
  value: number;
  document: string;
  /** Enforcing part: `workerd` is the runtime and Miniflare themselves, `here` is this folder. */
  by: 'workerd' | 'here' | 'npm run test:memory';
}

/** Limits of the platform that this code could exceed. `test/limits` checks each line. */
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
  messageBytes: { what: 'bytes of a message', value: 128_000, document: QUEUE_LIMITS_URL, by: 'workerd' },
  messagesOfBatch: { what: 'messages that are sent at once', value: 100, document: QUEUE_LIMITS_URL, by: 'workerd' },
  batchBytes: { what: 'bytes that are sent at once', value: 256_000, document: QUEUE_LIMITS_URL, by: 'here' },
  objectValueBytes: {
    what: 'bytes of a value, and of a row, in the SQL of an object',
    value: 2_000_000,
    document: `${OBJECTS_URL}/platform/limits/`,
    by: 'here',
  },
  objectEntryBytes: {
    what: 'bytes of a key and its value in the storage of an object',
    value: 2_000_000,
    document: `${OBJECTS_URL}/platform/limits/`,
    by: 'here',
  },
  alarms: {
    what: 'least time of an alarm (ms), of a class that has a handler of it',
    value: 1,
    document: `${OBJECTS_URL}/api/alarms/`,
    by: 'here',
  },
  connections: {
    what: 'connections of one invocation that wait for an answer; further ones wait for their turn',
    value: 6,
    document: `${WORKER_LIMITS_URL}#simultaneous-open-connections`,
    by: 'here',
  },
  subrequests: {
    what: 'requests of one invocation to others and to the platform',
    value: 10_000,
    document: `${WORKER_LIMITS_URL}#subrequests`,
    by: 'here',
  },
  memory: {
    what: 'megabytes of an isolate',
    value: 128,
    document: `${WORKER_LIMITS_URL}#memory`,
    by: 'npm run test:memory',
  },
} as const satisfies Record<string, PlatformLimit>;

/** Error thrown when a request to the platform exceeds a limit. */
export class LimitExceededError extends Error {
  constructor(limit: keyof typeof LIMITS, actualValue: number) {
    const { what, value, document } = LIMITS[limit];
    super(`The platform refuses this: ${actualValue}, where the limit is ${value} ${what} (${document}).`);
  }
}
