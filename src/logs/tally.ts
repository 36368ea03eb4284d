import type { LogAnalytics, SeenViewer, TopEntry } from './analytics.ts';
import type { Logged } from './log.ts';

type Outcome = 'resolved' | 'executed' | 'denied';

/** The outcome of an event for the dashboard, as in the object's own statements: executed, denied or resolved. */
const OUTCOMES: Partial<Record<string, Outcome>> = {
  'share.executed': 'executed',
  'embed.executed': 'executed',
  'share.denied': 'denied',
  'embed.denied': 'denied',
  'share.resolved': 'resolved',
};

/** Viewers that are told apart at once: about 30 MB. An object, so that tests can lower it. */
export const tallySizes = { viewers: 200_000 };

/** More viewers than can be told apart at once. */
export class TooManyViewers extends Error {}

/** One of several equal shares of all viewers. */
export interface ViewerShare {
  number: number;
  of: number;
}

function isIn({ number, of }: ViewerShare, viewer: string): boolean {
  if (of === 1) return true;
  let hash = 0x811c9dc5;
  for (let at = 0; at < viewer.length; at += 1) hash = Math.imul(hash ^ viewer.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % of === number;
}

type Top = Map<string, TopEntry>;

function addTo(top: Top, key: string, count: number, label: string | null): void {
  const known = top.get(key);
  if (!known) top.set(key, { key, label, count });
  else {
    known.count += count;
    if (label !== null && (known.label === null || label > known.label)) known.label = label;
  }
}

/** The most frequent, the first of them in the order of their keys where they are equal. */
export const takeMostFrequent = (entries: Iterable<TopEntry>, length: number): TopEntry[] =>
  [...entries].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1)).slice(0, length);

/**
 * Counts events that come in the order of their times, the newest first, so that of each interval only counts stay: the viewers
 * of one are held until the next begins. Viewers are told apart for one share of them.
 */
export class Tally {
  readonly totals = { resolved: 0, executed: 0, denied: 0 };
  /** The counts by the interval's number. */
  readonly series = new Map<number, LogAnalytics['totals']>();
  readonly top: Record<'shares' | 'dashboards' | 'countries', Top> = {
    shares: new Map(),
    dashboards: new Map(),
    countries: new Map(),
  };
  /** The number of executions by each viewer; 0 for one who only opened something. */
  readonly #viewers = new Map<string, number>();
  readonly #labels = new Map<string, string>();
  readonly #starts: readonly number[];
  readonly #share: ViewerShare;
  #interval: number;
  #seen = new Set<string>();

  /** @param interval the number of the newest interval that has events */
  constructor(starts: readonly number[], interval: number, share: ViewerShare) {
    this.#starts = starts;
    this.#interval = interval;
    this.#share = share;
  }

  /** Adds a viewer whose events are counted already; one that was seen early, in the newest interval, too. */
  addViewer({ viewer, executed, label, early }: SeenViewer): void {
    if (!isIn(this.#share, viewer)) return;
    this.#see(viewer, executed, label, early === 1);
  }

  add(event: Logged<'share'>): void {
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
    if (typeof viewer === 'string' && isIn(this.#share, viewer)) {
      this.#see(viewer, isExecuted ? 1 : 0, isExecuted ? (actorEmail ?? actorId ?? null) : null, true);
    }
    if (!isExecuted) return;
    if (shareId !== null) addTo(this.top.shares, shareId, 1, null);
    if (targetType === 'dashboard' && targetId !== null) addTo(this.top.dashboards, targetId, 1, null);
    if (ipCountry !== null) addTo(this.top.countries, ipCountry, 1, ipCountry);
  }

  /** Returns each key's count, here and elsewhere together. */
  topWith(name: keyof typeof this.top, others: readonly TopEntry[]): TopEntry[] {
    const all = new Map([...this.top[name]].map(([key, entry]) => [key, { ...entry }]));
    for (const { key, count, label } of others) addTo(all, key, count, label);
    return [...all.values()];
  }

  /** The number of viewers, and those that executed most. To be asked for when all is added. */
  viewers(length: number): { unique: number; most: TopEntry[] } {
    this.#endInterval();
    const label = (key: string) => this.#labels.get(key) ?? null;
    let most: TopEntry[] = [];
    for (const [key, count] of this.#viewers) {
      if (count > 0) most.push({ key, count, label: label(key) });
      if (most.length > 1000) most = takeMostFrequent(most, length);
    }
    return { unique: this.#viewers.size, most: takeMostFrequent(most, length) };
  }

  #see(viewer: string, executed: number, label: string | null, isInInterval: boolean): void {
    this.#viewers.set(viewer, (this.#viewers.get(viewer) ?? 0) + executed);
    if (this.#viewers.size > tallySizes.viewers) throw new TooManyViewers();
    if (label !== null && label > (this.#labels.get(viewer) ?? '')) this.#labels.set(viewer, label);
    if (isInInterval) this.#seen.add(viewer);
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
    if (this.#seen.size === 0) return;
    this.#counts().unique_viewers = this.#seen.size;
    this.#seen = new Set();
  }
}
