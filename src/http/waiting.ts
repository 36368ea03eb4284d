import { z } from 'zod';
import type { CompanyContext } from '../context.ts';
import { ID_PATTERN } from '../kernel/ids.ts';
import { declareVersion } from './endpoint.ts';

/** Maximum time that a request waits, in seconds. */
const MAX_WAIT_SECONDS = 25;

const secondsSchema = z
  .string()
  .regex(/^-?\d+$/, `must be a whole number from 1 to ${MAX_WAIT_SECONDS}`)
  .transform(Number)
  .pipe(z.int().min(1).max(MAX_WAIT_SECONDS))
  .optional()
  .meta({
    description:
      'With `If-None-Match`, the answer comes as soon as the resource has another version, and after so many seconds at the latest. Without it, `wait` has no effect.',
    override: ({ jsonSchema }) => {
      delete jsonSchema.pattern;
      Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: MAX_WAIT_SECONDS });
    },
  });

/** Schema of the query of a GET that waits. */
const waitQuery = z.object({ wait: secondsSchema });

/** Reads a version of each record, a text that differs after a change. May be called after the context was closed. */
export type ReadRecordVersions = (ctx: CompanyContext, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Declares a GET whose caller can wait for another version. These fields do not count for the version. */
export const declareWaiting = (readRecordVersions: ReadRecordVersions, ...ignoredFields: string[]) => ({
  query: waitQuery,
  versionDeclaration: declareVersion(...ignoredFields),
  readRecordVersions,
});

/** Returns the seconds that a validated query requests to wait for. */
export const getWaitSeconds = (query: unknown): number | undefined => (query as z.output<typeof waitQuery>).wait;

/** Waiting request of this isolate, and the end of its wait. */
interface PendingWait {
  id: string;
  endsAt: number;
}

/** Requests of one company that wait for records of one kind. One of them polls for all. */
interface CompanyWatch {
  pendingWaits: Set<PendingWait>;
  /** Version of each record at the last poll: null for a record that did not exist. */
  polledVersions: ReadonlyMap<string, string | null>;
  /** Time at which the last finished poll began. */
  polledAt: number;
  nextPollAt: number;
}

/** Watches of companies, by kind of record. A request can be cut off, so each wait expires by itself at its `endsAt`. */
const watches = new Map<ReadRecordVersions, Map<string, CompanyWatch>>();

/** Milliseconds between two polls of the database. */
const POLL_INTERVAL_MS = 1_000;
/** Milliseconds between a waiting request's checks of the result of another request's poll; they cost no query. */
const RECHECK_INTERVAL_MS = 250;
/** Milliseconds after which another request polls because the polling one did not finish. */
const RESUME_AFTER_MS = 10_000;

function getOrCreateWatch(readVersions: ReadRecordVersions, companyId: string): CompanyWatch {
  const watchesByCompany = watches.get(readVersions) ?? new Map<string, CompanyWatch>();
  watches.set(readVersions, watchesByCompany);
  for (const [id, watch] of watchesByCompany) if (!isAwaited(watch)) watchesByCompany.delete(id);
  const watch = watchesByCompany.get(companyId) ?? {
    pendingWaits: new Set(),
    polledVersions: new Map(),
    polledAt: 0,
    nextPollAt: performance.now() + POLL_INTERVAL_MS,
  };
  watchesByCompany.set(companyId, watch);
  return watch;
}

function isAwaited({ pendingWaits }: CompanyWatch): boolean {
  const now = performance.now();
  for (const wait of pendingWaits) if (wait.endsAt <= now) pendingWaits.delete(wait);
  return pendingWaits.size > 0;
}

async function pollVersions(watch: CompanyWatch, readVersions: ReadRecordVersions, ctx: CompanyContext): Promise<void> {
  const beganAt = performance.now();
  watch.nextPollAt = beganAt + RESUME_AFTER_MS;
  try {
    const ids = isAwaited(watch) ? [...new Set([...watch.pendingWaits].map(({ id }) => id))] : [];
    const foundVersions = await readVersions(ctx, ids);
    watch.polledVersions = new Map(ids.map((id) => [id, foundVersions.get(id) ?? null]));
    watch.polledAt = beganAt;
  } finally {
    watch.nextPollAt = beganAt + POLL_INTERVAL_MS;
  }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Input of `respondWhenChanged`. */
export interface WaitingRequest {
  readVersions: ReadRecordVersions;
  /** Context of the request. */
  ctx: CompanyContext;
  id: string;
  waitSeconds: number;
  /** Closes the connections of the request's context. */
  releaseConnections(): Promise<void>;
  isKnownVersion(shownRecord: object): Promise<boolean>;
  /** Makes the response for the caller as authenticated when the request arrived. */
  respond(): Promise<object>;
  /** Makes the response after the caller has been authenticated again with current data. */
  respondAfterRecheck(): Promise<object>;
}

/**
 * Responds to a GET as soon as the record's version differs from the one that the caller knows, at the latest after `waitSeconds`.
 * While a request waits it holds no connection and no slot. All requests of this isolate that wait for records of one kind and
 * company poll together, by one query a second; a changed record is shown only after its caller has been authorized again.
 */
export async function respondWhenChanged(waitingRequest: WaitingRequest): Promise<object> {
  const {
    readVersions,
    ctx,
    id,
    waitSeconds: seconds,
    releaseConnections,
    isKnownVersion,
    respond,
    respondAfterRecheck,
  } = waitingRequest;
  if (!ID_PATTERN.test(id)) return respond();
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  // Before the record itself: a change in between is seen as one.
  let knownVersion = (await readVersions(ctx, [id])).get(id) ?? null;
  const firstResponse = await respond();
  if (!(await isKnownVersion(firstResponse))) return firstResponse;
  await releaseConnections();

  const pendingWait: PendingWait = { id, endsAt };
  const watch = getOrCreateWatch(readVersions, ctx.actor.companyId);
  watch.pendingWaits.add(pendingWait);
  try {
    for (;;) {
      const now = performance.now();
      if (now >= endsAt) return await respondAfterRecheck();
      if (now >= watch.nextPollAt) await pollVersions(watch, readVersions, ctx).finally(releaseConnections);
      const polledVersion = watch.polledAt >= startedAt ? watch.polledVersions.get(id) : undefined;
      if (polledVersion !== undefined && polledVersion !== knownVersion) {
        knownVersion = polledVersion;
        const changedAnswer = await respondAfterRecheck();
        if (!(await isKnownVersion(changedAnswer))) return changedAnswer;
      }
      await sleep(Math.min(RECHECK_INTERVAL_MS, endsAt - performance.now()));
    }
  } finally {
    watch.pendingWaits.delete(pendingWait);
  }
}
