const R2 = 'https://developers.cloudflare.com/r2';
const D1 = 'https://developers.cloudflare.com/d1/platform/limits/';
const QUEUE_LIMITS_URL = 'https://developers.cloudflare.com/queues/platform/limits/';
const OBJECTS_URL = 'https://developers.cloudflare.com/durable-objects';
const WORKER_LIMITS_URL = 'https://developers.cloudflare.com/workers/platform/limits/';

/** Limit of the platform, the page that documents it, and the part that enforces it on this machine. */
interface PlatformLimit {
  title: string;
  value: number;
  documentUrl: string;
  /** Enforcing part: `workerd` is the runtime and Miniflare themselves, `here` is this folder. */
  enforcer: 'workerd' | 'here' | 'npm run test:memory';
}

/** Limits of the platform that this code could exceed. `test/limits` checks each line. */
export const LIMITS = {
  keysOfDelete: {
    title: 'keys of one deletion, and not none',
    value: 1_000,
    documentUrl: `${R2}/api/workers/workers-api-reference/`,
    enforcer: 'here',
  },
  keyBytes: { title: 'bytes of a key', value: 1_024, documentUrl: `${R2}/platform/limits/`, enforcer: 'workerd' },
  partBytes: {
    title: 'least bytes of a part of a multipart upload; all but the last are of one size',
    value: 5 * 1024 * 1024,
    documentUrl: `${R2}/objects/multipart-objects/`,
    enforcer: 'workerd',
  },
  parameters: { title: 'bound parameters of a statement', value: 100, documentUrl: D1, enforcer: 'workerd' },
  statementBytes: { title: 'bytes of a statement', value: 100_000, documentUrl: D1, enforcer: 'workerd' },
  patternBytes: { title: 'bytes of a pattern of LIKE or GLOB', value: 50, documentUrl: D1, enforcer: 'workerd' },
  valueBytes: { title: 'bytes of a value, and of a row', value: 2_000_000, documentUrl: D1, enforcer: 'here' },
  queries: { title: 'queries of one invocation', value: 1_000, documentUrl: D1, enforcer: 'here' },
  messageBytes: { title: 'bytes of a message', value: 128_000, documentUrl: QUEUE_LIMITS_URL, enforcer: 'workerd' },
  messagesOfBatch: {
    title: 'messages that are sent at once',
    value: 100,
    documentUrl: QUEUE_LIMITS_URL,
    enforcer: 'workerd',
  },
  batchBytes: { title: 'bytes that are sent at once', value: 256_000, documentUrl: QUEUE_LIMITS_URL, enforcer: 'here' },
  objectValueBytes: {
    title: 'bytes of a value, and of a row, in the SQL of an object',
    value: 2_000_000,
    documentUrl: `${OBJECTS_URL}/platform/limits/`,
    enforcer: 'here',
  },
  objectEntryBytes: {
    title: 'bytes of a key and its value in the storage of an object',
    value: 2_000_000,
    documentUrl: `${OBJECTS_URL}/platform/limits/`,
    enforcer: 'here',
  },
  alarms: {
    title: 'least time of an alarm (ms), of a class that has a handler of it',
    value: 1,
    documentUrl: `${OBJECTS_URL}/api/alarms/`,
    enforcer: 'here',
  },
  connections: {
    title: 'connections of one invocation that wait for an answer; further ones wait for their turn',
    value: 6,
    documentUrl: `${WORKER_LIMITS_URL}#simultaneous-open-connections`,
    enforcer: 'here',
  },
  subrequests: {
    title: 'requests of one invocation to others and to the platform',
    value: 10_000,
    documentUrl: `${WORKER_LIMITS_URL}#subrequests`,
    enforcer: 'here',
  },
  memory: {
    title: 'megabytes of an isolate',
    value: 128,
    documentUrl: `${WORKER_LIMITS_URL}#memory`,
    enforcer: 'npm run test:memory',
  },
} as const satisfies Record<string, PlatformLimit>;

/** Error thrown when a request to the platform exceeds a limit. */
export class LimitExceededError extends Error {
  constructor(limit: keyof typeof LIMITS, actualValue: number) {
    const { title, value, documentUrl } = LIMITS[limit];
    super(`The platform refuses this: ${actualValue}, where the limit is ${value} ${title} (${documentUrl}).`);
  }
}
