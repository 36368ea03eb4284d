import {
  type Counts,
  type LogAnalytics,
  MAX_TOP_ENTRIES,
  type SeenViewer,
  type StoredAnalytics,
  type TopEntry,
} from '../../logs/analytics.ts';
import { compareKeys, type LogFilter, type LogKey, type LogRecord } from '../../logs/log.ts';
import { MissingPartError, readPart } from '../../logs/part-file.ts';
import { Tally, TooManyViewersError, takeMostFrequentEntries, type ViewerPartition } from '../../logs/view-counter.ts';
import type { CompanyLog } from '../../objects/company-log.ts';
import { callObject } from '../../platform/objects.ts';
import type { LogReader } from './read.ts';

/** The number of viewers read from the Durable Object at once. */
const VIEWERS_PER_BATCH = 20_000;
/** The number of files that are prefetched. */
const PREFETCHED_FILE_COUNT = 3;
/** The number of attempts to count while events are moved. */
const MAX_COUNTING_ATTEMPTS = 3;

/** The error when events were moved while they were counted. */
class EventsMovedError extends Error {}

/**
 * Counts views of shares: the counts in the log of the caller's company, and the events of days that were moved to R2, file by
 * file. @param starts where the intervals of the series begin, ascending, in milliseconds
 */
export async function readAnalytics(
  { actor: { companyId }, bindings, files }: LogReader,
  filter: LogFilter,
  starts: readonly number[],
): Promise<LogAnalytics> {
  const callCompanyLog: LogCaller = (call) => callObject(bindings.COMPANY_LOG, companyId, call);
  for (let tryCount = 1; ; tryCount += 1) {
    const { parts, moved, ...own } = await callCompanyLog(
      async (log) => (await log.analytics(filter, starts)) as StoredAnalytics,
    );
    const wantedFiles = parts.filter(({ matching }) => matching !== 0).map(({ file }) => file);
    if (wantedFiles.length === 0 || moved === null) return keepMostFrequentEntries(own);
    try {
      return await addFileCounts(callCompanyLog, files, {
        filter,
        intervalStarts: starts,
        storedAnalytics: own,
        lastMovedKey: moved,
        wantedFiles,
      });
    } catch (error) {
      const isRetryable = error instanceof EventsMovedError || error instanceof MissingPartError;
      if (!isRetryable || tryCount === MAX_COUNTING_ATTEMPTS) throw error;
    }
  }
}

/** Cuts the top lists to the most frequent entries: the Durable Object returns all where files have to be added. */
const keepMostFrequentEntries = ({ top, ...counts }: LogAnalytics): LogAnalytics => ({
  ...counts,
  top: {
    shares: takeMostFrequentEntries(top.shares, MAX_TOP_ENTRIES),
    dashboards: takeMostFrequentEntries(top.dashboards, MAX_TOP_ENTRIES),
    viewers: top.viewers,
    countries: takeMostFrequentEntries(top.countries, MAX_TOP_ENTRIES),
  },
});

type LogCaller = <T>(call: (log: DurableObjectStub<CompanyLog>) => Promise<T>) => Promise<T>;

interface FileCountInput {
  filter: LogFilter;
  intervalStarts: readonly number[];
  storedAnalytics: LogAnalytics;
  lastMovedKey: LogKey;
  wantedFiles: readonly string[];
}

/**
 * Adds the events in files to the Durable Object's counts. If there are too many distinct viewers for memory, the viewers are
 * halved and everything is read again for each half, repeatedly if needed.
 */
async function addFileCounts(callCompanyLog: LogCaller, files: R2Bucket, input: FileCountInput): Promise<LogAnalytics> {
  const { filter, intervalStarts, storedAnalytics, lastMovedKey, wantedFiles } = input;
  // Of the intervals, one at the most has events in the object and in files.
  const newest = Math.max(
    0,
    intervalStarts.findLastIndex((start) => start <= lastMovedKey.at),
  );
  const end = intervalStarts[newest + 1] ?? Number.MAX_SAFE_INTEGER;
  const partitions: ViewerPartition[] = [{ number: 0, partitionCount: 1 }];
  const series = new Map(storedAnalytics.series.map((counts) => [counts.start, { ...counts }]));
  const commonCounts = series.get(intervalStarts[newest] as number);
  if (commonCounts) commonCounts.unique_viewers = 0;
  const viewers: TopEntry[] = [];
  let firstTally: Tally | undefined;
  let uniqueViewerCount = 0;
  for (let partition = partitions.pop(); partition; partition = partitions.pop()) {
    const tally = new Tally(intervalStarts, newest, partition);
    try {
      for await (const viewer of readViewers(callCompanyLog, filter, end, lastMovedKey)) tally.addViewer(viewer);
      for await (const event of readEvents(files, wantedFiles, filter)) tally.addEvent(event);
    } catch (error) {
      if (!(error instanceof TooManyViewersError)) throw error;
      const { number, partitionCount } = partition;
      partitions.push(
        { number, partitionCount: 2 * partitionCount },
        { number: number + partitionCount, partitionCount: 2 * partitionCount },
      );
      continue;
    }
    const viewerSummary = tally.summarizeViewers(MAX_TOP_ENTRIES);
    uniqueViewerCount += viewerSummary.viewerCount;
    viewers.push(...viewerSummary.topViewers);
    for (const [interval, counts] of tally.series) {
      const start = intervalStarts[interval] as number;
      const intervalCounts = series.get(start) ?? { ...ZERO_COUNTS, start };
      // Each tally counts all events, but viewers of its own share alone.
      series.set(start, {
        ...(firstTally ? intervalCounts : addCounts(intervalCounts, counts)),
        start,
        unique_viewers: intervalCounts.unique_viewers + counts.unique_viewers,
      });
    }
    firstTally ??= tally;
  }
  const mergeTopList = (name: 'shares' | 'dashboards' | 'countries') =>
    takeMostFrequentEntries(firstTally?.mergeTop(name, storedAnalytics.top[name]) ?? [], MAX_TOP_ENTRIES);
  return {
    totals: {
      ...addCounts(storedAnalytics.totals, firstTally?.totals ?? ZERO_COUNTS),
      unique_viewers: uniqueViewerCount,
    },
    series: [...series.values()].sort((a, b) => a.start - b.start),
    top: {
      shares: mergeTopList('shares'),
      dashboards: mergeTopList('dashboards'),
      viewers: takeMostFrequentEntries(viewers, MAX_TOP_ENTRIES),
      countries: mergeTopList('countries'),
    },
  };
}

const ZERO_COUNTS: Counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };

type EventCounts = Omit<Counts, 'unique_viewers'>;

const addCounts = (counts: EventCounts, otherCounts: EventCounts): EventCounts => ({
  resolved: counts.resolved + otherCounts.resolved,
  executed: counts.executed + otherCounts.executed,
  denied: counts.denied + otherCounts.denied,
});

/** Yields the viewers of events still in the Durable Object. Those with an event before `end` (ms) are marked as `early`. */
async function* readViewers(
  callCompanyLog: LogCaller,
  filter: LogFilter,
  end: number,
  lastMovedKey: LogKey,
): AsyncGenerator<SeenViewer> {
  for (let afterViewer = ''; ; ) {
    const page = { end, after: afterViewer, limit: VIEWERS_PER_BATCH };
    const viewerPage = await callCompanyLog(
      async (log) => (await log.viewers(filter, page)) as { viewers: SeenViewer[]; moved: LogKey | null },
    );
    // Viewers of what was moved meanwhile are in files that are not known here.
    if (viewerPage.moved === null || compareKeys(viewerPage.moved, lastMovedKey) !== 0) throw new EventsMovedError();
    yield* viewerPage.viewers;
    const lastViewer = viewerPage.viewers.at(-1);
    if (lastViewer === undefined || viewerPage.viewers.length < VIEWERS_PER_BATCH) return;
    afterViewer = lastViewer.viewer;
  }
}

/** Yields the events of files, one file after another. */
async function* readEvents(
  files: R2Bucket,
  names: readonly string[],
  filter: LogFilter,
): AsyncGenerator<LogRecord<'share'>> {
  const startReadingFile = (name: string) => {
    const events = readPart(files, name, filter);
    const firstResult = events.next();
    // What fails is told when its turn comes.
    firstResult.catch(() => undefined);
    return { events, first: firstResult };
  };
  const prefetchedFiles = names.slice(0, PREFETCHED_FILE_COUNT).map(startReadingFile);
  try {
    for (let at = 0; at < names.length; at += 1) {
      const { events, first } = prefetchedFiles[0] as ReturnType<typeof startReadingFile>;
      for (let nextResult = await first; !nextResult.done; nextResult = await events.next())
        yield nextResult.value as LogRecord<'share'>;
      prefetchedFiles.shift();
      const name = names[at + PREFETCHED_FILE_COUNT];
      if (name !== undefined) prefetchedFiles.push(startReadingFile(name));
    }
  } finally {
    for (const { events } of prefetchedFiles) void events.return(undefined).catch(() => undefined);
  }
}
