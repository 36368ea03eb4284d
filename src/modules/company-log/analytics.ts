import {
  type Counts,
  type LogAnalytics,
  MAX_TOP_ENTRIES,
  type OwnAnalytics,
  type SeenViewer,
  type TopEntry,
} from '../../logs/analytics.ts';
import { compareKeys, type LogFilter, type Logged, type LogKey } from '../../logs/log.ts';
import { MissingPart, readPart } from '../../logs/part-file.ts';
import { Tally, TooManyViewers, takeMostFrequent, type ViewerShare } from '../../logs/tally.ts';
import type { CompanyLog } from '../../objects/company-log.ts';
import { callObject } from '../../platform/objects.ts';
import type { LogReader } from './read.ts';

/** Viewers that the object is asked for at once. */
const VIEWERS_PER_BATCH = 20_000;
/** The number of files that are prefetched. */
const PREFETCHED_FILES = 3;
/** The number of times that a count is tried while events are moved under it. */
const MAX_TRIES = 3;

/** Events were moved while they were counted. */
class EventsMoved extends Error {}

/**
 * Counts how often shares were seen: the counts of the log of the caller's company, and the events of days that were moved to R2,
 * file by file.
 * @param starts where the intervals of the series begin, ascending, in milliseconds
 */
export async function readAnalytics(
  { actor: { companyId }, bindings, files }: LogReader,
  filter: LogFilter,
  starts: readonly number[],
): Promise<LogAnalytics> {
  const ask: AskLog = (call) => callObject(bindings.COMPANY_LOG, companyId, call);
  for (let tries = 1; ; tries += 1) {
    const { parts, moved, ...own } = await ask(async (log) => (await log.analytics(filter, starts)) as OwnAnalytics);
    const wanted = parts.filter(({ matching }) => matching !== 0).map(({ file }) => file);
    if (wanted.length === 0 || moved === null) return cutToMostFrequent(own);
    try {
      return await addFileCounts(ask, files, { filter, starts, own, moved, wanted });
    } catch (error) {
      const isAgain = error instanceof EventsMoved || error instanceof MissingPart;
      if (!isAgain || tries === MAX_TRIES) throw error;
    }
  }
}

/** Cuts the lists to the most frequent entries: the Durable Object returns all of them where there are files to add. */
const cutToMostFrequent = ({ top, ...counts }: LogAnalytics): LogAnalytics => ({
  ...counts,
  top: {
    shares: takeMostFrequent(top.shares, MAX_TOP_ENTRIES),
    dashboards: takeMostFrequent(top.dashboards, MAX_TOP_ENTRIES),
    viewers: top.viewers,
    countries: takeMostFrequent(top.countries, MAX_TOP_ENTRIES),
  },
});

type AskLog = <T>(call: (log: DurableObjectStub<CompanyLog>) => Promise<T>) => Promise<T>;

interface FileCountInput {
  filter: LogFilter;
  starts: readonly number[];
  own: LogAnalytics;
  moved: LogKey;
  wanted: readonly string[];
}

/**
 * Adds the events in files to the Durable Object's counts. If there are too many distinct viewers for memory, the viewers are
 * halved and everything is read again for each half, repeatedly if needed.
 */
async function addFileCounts(ask: AskLog, files: R2Bucket, counting: FileCountInput): Promise<LogAnalytics> {
  const { filter, starts, own, moved, wanted } = counting;
  // Of the intervals, one at the most has events in the object and in files.
  const newest = Math.max(
    0,
    starts.findLastIndex((start) => start <= moved.at),
  );
  const end = starts[newest + 1] ?? Number.MAX_SAFE_INTEGER;
  const shares: ViewerShare[] = [{ number: 0, of: 1 }];
  const series = new Map(own.series.map((counts) => [counts.start, { ...counts }]));
  const common = series.get(starts[newest] as number);
  if (common) common.unique_viewers = 0;
  const viewers: TopEntry[] = [];
  let first: Tally | undefined;
  let unique = 0;
  for (let share = shares.pop(); share; share = shares.pop()) {
    const tally = new Tally(starts, newest, share);
    try {
      for await (const viewer of readViewers(ask, filter, end, moved)) tally.addViewer(viewer);
      for await (const event of readEvents(files, wanted, filter)) tally.add(event);
    } catch (error) {
      if (!(error instanceof TooManyViewers)) throw error;
      const { number, of } = share;
      shares.push({ number, of: 2 * of }, { number: number + of, of: 2 * of });
      continue;
    }
    const seen = tally.viewers(MAX_TOP_ENTRIES);
    unique += seen.unique;
    viewers.push(...seen.most);
    for (const [interval, counts] of tally.series) {
      const start = starts[interval] as number;
      const known = series.get(start) ?? { ...ZERO_COUNTS, start };
      // Each tally counts all events, but viewers of its own share alone.
      series.set(start, {
        ...(first ? known : addCounts(known, counts)),
        start,
        unique_viewers: known.unique_viewers + counts.unique_viewers,
      });
    }
    first ??= tally;
  }
  const top = (name: 'shares' | 'dashboards' | 'countries') =>
    takeMostFrequent(first?.topWith(name, own.top[name]) ?? [], MAX_TOP_ENTRIES);
  return {
    totals: { ...addCounts(own.totals, first?.totals ?? ZERO_COUNTS), unique_viewers: unique },
    series: [...series.values()].sort((a, b) => a.start - b.start),
    top: {
      shares: top('shares'),
      dashboards: top('dashboards'),
      viewers: takeMostFrequent(viewers, MAX_TOP_ENTRIES),
      countries: top('countries'),
    },
  };
}

const ZERO_COUNTS: Counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };

type EventCounts = Omit<Counts, 'unique_viewers'>;

const addCounts = (one: EventCounts, other: EventCounts): EventCounts => ({
  resolved: one.resolved + other.resolved,
  executed: one.executed + other.executed,
  denied: one.denied + other.denied,
});

/**
 * The viewers of the events that are still in the Durable Object.
 * @param end the time before which an event counts as early
 */
async function* readViewers(ask: AskLog, filter: LogFilter, end: number, moved: LogKey): AsyncGenerator<SeenViewer> {
  for (let after = ''; ; ) {
    const page = { end, after, limit: VIEWERS_PER_BATCH };
    const found = await ask(
      async (log) => (await log.viewers(filter, page)) as { viewers: SeenViewer[]; moved: LogKey | null },
    );
    // Viewers of what was moved meanwhile are in files that are not known here.
    if (found.moved === null || compareKeys(found.moved, moved) !== 0) throw new EventsMoved();
    yield* found.viewers;
    const last = found.viewers.at(-1);
    if (last === undefined || found.viewers.length < VIEWERS_PER_BATCH) return;
    after = last.viewer;
  }
}

/** The events of files, one file after another. */
async function* readEvents(
  files: R2Bucket,
  names: readonly string[],
  filter: LogFilter,
): AsyncGenerator<Logged<'share'>> {
  const begin = (name: string) => {
    const events = readPart(files, name, filter);
    const first = events.next();
    // What fails is told when its turn comes.
    first.catch(() => undefined);
    return { events, first };
  };
  const begun = names.slice(0, PREFETCHED_FILES).map(begin);
  try {
    for (let at = 0; at < names.length; at += 1) {
      const { events, first } = begun[0] as ReturnType<typeof begin>;
      for (let next = await first; !next.done; next = await events.next()) yield next.value as Logged<'share'>;
      begun.shift();
      const name = names[at + PREFETCHED_FILES];
      if (name !== undefined) begun.push(begin(name));
    }
  } finally {
    for (const { events } of begun) void events.return(undefined).catch(() => undefined);
  }
}
