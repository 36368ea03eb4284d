import { z } from 'zod';
import type { CompanyContext } from '../context.ts';
import { ID_PATTERN } from '../kernel/ids.ts';
import { type Versioned, versioned } from './endpoint.ts';

/** The maximum time that a request waits, in seconds. */
const MAX_WAIT_SECONDS = 25;

const seconds = z
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

/** The query of a GET that waits. */
const waitQuery = z.object({ wait: seconds });

/** Reads a stamp of each record, a text that differs after a change. May be called after the context was closed. */
export type ReadStamps = (ctx: CompanyContext, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** The declarations of a GET whose caller can wait for another version, which these fields do not count for. */
export const declareWaiting = (readStamps: ReadStamps, ...without: string[]): Waiter => ({
  query: waitQuery,
  versioned: versioned(...without),
  readStamps,
});

interface Waiter {
  query: typeof waitQuery;
  versioned: Versioned;
  readStamps: ReadStamps;
}

/** The seconds that a validated query asks to wait for. */
export const getSeconds = (query: unknown): number | undefined => (query as z.output<typeof waitQuery>).wait;

/** A request of this isolate that waits, and when its time is over. */
interface Wait {
  id: string;
  endsAt: number;
}

/** The requests of one company that wait for records of one kind. One of them polls for all. */
interface Watch {
  waits: Set<Wait>;
  /** The stamp of each record at the last look: null for a record that was not there. */
  seen: ReadonlyMap<string, string | null>;
  /** When the last poll began. */
  seenAt: number;
  nextLookAt: number;
}

/** Companies' watches, by kind of record. A request can be cut off, so each wait expires by itself at its `endsAt`. */
const watches = new Map<ReadStamps, Map<string, Watch>>();

/** The time between two polls of the database. Milliseconds. */
const POLL_INTERVAL_MS = 1_000;
/** The time between a waiting request's looks for what another's poll has found; they cost no query. Milliseconds. */
const RECHECK_INTERVAL_MS = 250;
/** The time after which another request polls because the one that was polling did not finish. Milliseconds. */
const RESUME_AFTER_MS = 10_000;

function openWatch(stamps: ReadStamps, companyId: string): Watch {
  const companies = watches.get(stamps) ?? new Map<string, Watch>();
  watches.set(stamps, companies);
  for (const [id, watch] of companies) if (!isAwaited(watch)) companies.delete(id);
  const watch = companies.get(companyId) ?? {
    waits: new Set(),
    seen: new Map(),
    seenAt: 0,
    nextLookAt: performance.now() + POLL_INTERVAL_MS,
  };
  companies.set(companyId, watch);
  return watch;
}

function isAwaited({ waits }: Watch): boolean {
  const now = performance.now();
  for (const wait of waits) if (wait.endsAt <= now) waits.delete(wait);
  return waits.size > 0;
}

async function readWatchedStamps(watch: Watch, stamps: ReadStamps, ctx: CompanyContext): Promise<void> {
  const beganAt = performance.now();
  watch.nextLookAt = beganAt + RESUME_AFTER_MS;
  try {
    const ids = isAwaited(watch) ? [...new Set([...watch.waits].map(({ id }) => id))] : [];
    const found = await stamps(ctx, ids);
    watch.seen = new Map(ids.map((id) => [id, found.get(id) ?? null]));
    watch.seenAt = beganAt;
  } finally {
    watch.nextLookAt = beganAt + POLL_INTERVAL_MS;
  }
}

const waitFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The input of `respondWhenChanged`. */
export interface WaitingRequest {
  stamps: ReadStamps;
  /** The context of the request, which has what it opens closed by `release`. */
  ctx: CompanyContext;
  id: string;
  seconds: number;
  release(): Promise<void>;
  isKnown(shown: object): Promise<boolean>;
  /** The response for the caller as authenticated when the request arrived. */
  show(): Promise<object>;
  /** The response after the caller has been authenticated again with current data. */
  showAnew(): Promise<object>;
}

/**
 * Responds to a GET as soon as the record's version differs from the one that the caller knows, at the latest after `seconds`.
 * While a request waits it holds no connection and no slot. All requests of this isolate that wait for records of one kind and
 * company poll together, by one query a second; a changed record is shown only after its caller has been authorized again.
 */
export async function respondWhenChanged(awaited: WaitingRequest): Promise<object> {
  const { stamps, ctx, id, seconds, release, isKnown, show, showAnew } = awaited;
  if (!ID_PATTERN.test(id)) return show();
  const since = performance.now();
  const endsAt = since + seconds * 1_000;
  // Before the record itself: a change in between is seen as one.
  let known = (await stamps(ctx, [id])).get(id) ?? null;
  const first = await show();
  if (!(await isKnown(first))) return first;
  await release();

  const wait: Wait = { id, endsAt };
  const watch = openWatch(stamps, ctx.actor.companyId);
  watch.waits.add(wait);
  try {
    for (;;) {
      const now = performance.now();
      if (now >= endsAt) return await showAnew();
      if (now >= watch.nextLookAt) await readWatchedStamps(watch, stamps, ctx).finally(release);
      const seen = watch.seenAt >= since ? watch.seen.get(id) : undefined;
      if (seen !== undefined && seen !== known) {
        known = seen;
        const shown = await showAnew();
        if (!(await isKnown(shown))) return shown;
      }
      await waitFor(Math.min(RECHECK_INTERVAL_MS, endsAt - performance.now()));
    }
  } finally {
    watch.waits.delete(wait);
  }
}
