import type { LogAnalytics, SeenViewer, TopEntry } from './analytics.ts';
import type { LogRecord } from './log.ts';

type Outcome = 'resolved' | 'executed' | 'denied';

/** The outcome that an event stands for, the same as in the Durable Object's SQL: executed, denied or resolved. */
const OUTCOMES: Partial<Record<string, Outcome>> = {
  'share.executed': 'executed',
  'embed.executed': 'executed',
  'share.denied': 'denied',
  'embed.denied': 'denied',
  'share.resolved': 'resolved',
};

/** The number of viewers that are distinguished at once: about 30 MB. An object, so that tests can lower it. */
export const tallyLimits = { viewers: 200_000 };

/** The error for more viewers than can be distinguished at once. */
export class TooManyViewersError extends Error {}

/** One of several equal parts of all viewers. */
export interface ViewerPartition {
  number: number;
  partitionCount: number;
}

function isInPartition({ number, partitionCount }: ViewerPartition, viewer: string): boolean {
  if (partitionCount === 1) return true;
  let hash = 0x811c9dc5;
  for (let at = 0; at < viewer.length; at += 1) hash = Math.imul(hash ^ viewer.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % partitionCount === number;
}

type TopEntries = Map<string, TopEntry>;

function addToTopEntries(top: TopEntries, key: string, count: number, label: string | null): void {
  const knownEntry = top.get(key);
  if (!knownEntry) top.set(key, { key, label, count });
  else {
    knownEntry.count += count;
    if (label !== null && (knownEntry.label === null || label > knownEntry.label)) knownEntry.label = label;
  }
}

/** Returns the most frequent entries, ordered by key where they are equal. */
export const takeMostFrequentEntries = (entries: Iterable<TopEntry>, length: number): TopEntry[] =>
  [...entries].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, length);

/**
 * Counts events that come ordered by time, the newest first, so that only counts are kept per interval: the viewers of an
 * interval are held until the next interval begins. Only the viewers of `partition` are distinguished.
 */
export class Tally {
  readonly totals = { resolved: 0, executed: 0, denied: 0 };
  /** The counts by interval number. */
  readonly series = new Map<number, LogAnalytics['totals']>();
  readonly topEntries: Record<'shares' | 'dashboards' | 'countries', TopEntries> = {
    shares: new Map(),
    dashboards: new Map(),
    countries: new Map(),
  };
  /** The number of executions by each viewer; 0 for one who only opened a dashboard. */
  readonly #viewers = new Map<string, number>();
  readonly #labels = new Map<string, string>();
  readonly #starts: readonly number[];
  readonly #partition: ViewerPartition;
  #interval: number;
  #seenViewers = new Set<string>();

  /** @param interval the number of the newest interval that has events */
  constructor(intervalStarts: readonly number[], interval: number, partition: ViewerPartition) {
    this.#starts = intervalStarts;
    this.#interval = interval;
    this.#partition = partition;
  }

  /** Adds a viewer whose events are counted already; an early viewer is added to the newest interval too. */
  addViewer({ viewer, executed, label, early }: SeenViewer): void {
    if (!isInPartition(this.#partition, viewer)) return;
    this.#see(viewer, executed, label, early === 1);
  }

  addEvent(event: LogRecord<'share'>): void {
    const outcome = OUTCOMES[event.type];
    if (outcome === undefined) return;
    while (this.#interval > 0 && event.occurredAt < (this.#starts[this.#interval] as number)) {
      this.#endInterval();
      this.#interval -= 1;
    }
    this.totals[outcome] += 1;
    this.#counts()[outcome] += 1;
    const { viewer, shareId, targetType, targetId, ipCountry, actorEmail, actorId } = event;
    if (outcome === 'denied') return;
    const isExecuted = outcome === 'executed';
    if (typeof viewer === 'string' && isInPartition(this.#partition, viewer)) {
      this.#see(viewer, isExecuted ? 1 : 0, isExecuted ? (actorEmail ?? actorId ?? null) : null, true);
    }
    if (!isExecuted) return;
    if (shareId !== null) addToTopEntries(this.topEntries.shares, shareId, 1, null);
    if (targetType === 'dashboard' && targetId !== null) addToTopEntries(this.topEntries.dashboards, targetId, 1, null);
    if (ipCountry !== null) addToTopEntries(this.topEntries.countries, ipCountry, 1, ipCountry);
  }

  /** Returns all entries of a top list, each count with that of the same key in `otherEntries` added. */
  mergeTop(name: keyof typeof this.topEntries, otherEntries: readonly TopEntry[]): TopEntry[] {
    const entriesByKey = new Map([...this.topEntries[name]].map(([key, entry]) => [key, { ...entry }]));
    for (const { key, count, label } of otherEntries) addToTopEntries(entriesByKey, key, count, label);
    return [...entriesByKey.values()];
  }

  /** Returns the number of viewers, and those who executed most. Call it after everything was added. */
  summarizeViewers(length: number): { viewerCount: number; topViewers: TopEntry[] } {
    this.#endInterval();
    const getLabel = (key: string) => this.#labels.get(key) ?? null;
    let mostFrequentEntries: TopEntry[] = [];
    for (const [key, count] of this.#viewers) {
      if (count > 0) mostFrequentEntries.push({ key, count, label: getLabel(key) });
      if (mostFrequentEntries.length > 1000) mostFrequentEntries = takeMostFrequentEntries(mostFrequentEntries, length);
    }
    return { viewerCount: this.#viewers.size, topViewers: takeMostFrequentEntries(mostFrequentEntries, length) };
  }

  #see(viewer: string, executionCount: number, label: string | null, isInInterval: boolean): void {
    this.#viewers.set(viewer, (this.#viewers.get(viewer) ?? 0) + executionCount);
    if (this.#viewers.size > tallyLimits.viewers) throw new TooManyViewersError();
    if (label !== null && label > (this.#labels.get(viewer) ?? '')) this.#labels.set(viewer, label);
    if (isInInterval) this.#seenViewers.add(viewer);
  }

  #counts() {
    let counts = this.series.get(this.#interval);
    if (!counts) {
      counts = { resolved: 0, executed: 0, denied: 0, unique_viewers: 0 };
      this.series.set(this.#interval, counts);
    }
    return counts;
  }

  #endInterval(): void {
    if (this.#seenViewers.size === 0) return;
    this.#counts().unique_viewers = this.#seenViewers.size;
    this.#seenViewers = new Set();
  }
}
