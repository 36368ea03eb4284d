import { DurableObject } from 'cloudflare:workers';
import { clock, DAY_MS, MINUTE_MS } from '../kernel/clock.ts';
import { type OwnAnalytics, readAnalytics, readViewers, type SeenViewer } from '../logs/analytics.ts';
import { forgetTables, takeOverFormerTables } from '../logs/day-tables.ts';
import {
  advanceCursor,
  createFollowing,
  type FollowedRecords,
  hasUnreadRecords,
  listFollowedKinds,
  readFollowing,
  recordLate,
  startFollowing,
  stopFollowing,
} from '../logs/following.ts';
import { createForgotten, purgeForgotten, redactForgotten, rememberForgotten } from '../logs/forgotten.ts';
import { forgetCounts, type LogPage, listRecords } from '../logs/listing.ts';
import {
  compareKeys,
  DEFAULT_RETENTION_DAYS,
  LOG_KINDS,
  type LogFilter,
  type Logged,
  type LogKey,
  type LogKind,
  toKey,
  toRange,
} from '../logs/log.ts';
import { deleteLeftovers, type Mover, mergeLate, moveOldest } from '../logs/mover.ts';
import { countParts, type ListedPart, listPartsIn, readLastMoved } from '../logs/parts.ts';
import { redactPart, redactRows } from '../logs/person.ts';
import type { Person } from '../logs/redaction.ts';
import {
  countRecordsIn,
  insertRecords,
  isFull,
  isKnownInMinute,
  readNewestOrOldest,
  readRecordsIn,
} from '../logs/rows.ts';
import { createTables } from '../logs/tables.ts';
import { countUsed, createUsedDays, findNewlyUsed, readUsedDays, type UsedDay } from '../logs/used-days.ts';
import { countLate, countViews, createViewsMark, findLateViews } from '../logs/view-counts.ts';
import { addViews, putViewsBefore, readViews, type ShareViews } from '../logs/views.ts';
import { logError } from '../platform/log.ts';
import { eraseStorage } from './erase-storage.ts';

/** The maximum duration of a run that moves records. */
const RUN_MS = 20_000;
/** The time until late records are put in their place, and until a step that failed is tried again. */
const LATE_RECORDS_DELAY_MS = 5_000;
const RETRY_MS = 5 * MINUTE_MS;

const NAME = 'name';
/** The key that marks the log of a company that has ended: all that is left. It takes nothing more, however late it comes. */
const ERASED = 'erased';
const REDACTIONS = 'redactions';

/** Files that are read, and where necessary written anew, in one call. */
const FILES_A_CALL = 10;

/** The progress of a redaction among the files. */
export interface Redaction {
  kind: LogKind;
  after: LogKey | null;
}

/** The time until followers of the log are told that there is more, and until they are told again, where they could not be. */
const NOTIFY_FOLLOWERS_DELAY_MS = 5_000;

interface Environment {
  FILES: R2Bucket;
  WEBHOOKS: Queue;
  AUDIT_RETENTION_DAYS?: string;
}

/** Lets others have a turn. */
const pause = (): Promise<void> => scheduler.wait(0);

/**
 * The log of a company, or the one for records of no company: its audit records and its share events. Days older than the
 * retention move to R2, where lists go on; so they do early when the object is nearly full.
 */
export class CompanyLog extends DurableObject<Environment> {
  readonly #sql = this.ctx.storage.sql;
  #alarmAt: number | null = null;
  #isErased: boolean;
  /** Resolves when nobody writes files. */
  #turn: Promise<void> = Promise.resolve();
  /** Counts how often records were moved. */
  #moves = 0;

  constructor(state: DurableObjectState, env: Environment) {
    super(state, env);
    this.#isErased = state.storage.kv.get(ERASED) === true;
    if (!this.#isErased) this.#open();
    void state.blockConcurrencyWhile(async () => {
      this.#alarmAt = await state.storage.getAlarm();
    });
  }

  #open(): void {
    createTables(this.#sql);
    takeOverFormerTables(this.#sql);
    createViewsMark(this.#sql);
    createUsedDays(this.#sql);
    createFollowing(this.#sql);
    createForgotten(this.#sql);
  }

  /** Deletes all records for good, but for those in files, and returns how many there were. */
  async erase(): Promise<number> {
    if (this.#isErased) return 0;
    const { storage } = this.ctx;
    const everything = toRange({});
    const records = LOG_KINDS.reduce((sum, kind) => sum + countRecordsIn(this.#sql, kind, everything), 0);
    // From here on nothing is kept, whatever comes in between.
    this.#isErased = true;
    this.#moves += 1;
    await eraseStorage(storage);
    forgetTables(this.#sql);
    storage.kv.put(ERASED, true);
    return records;
  }

  /**
   * Replaces a person by a pseudonym in a batch of records: first in those in the object, including older records that arrive
   * later, then in a few log files per call.
   * @param cursor where to continue; null to start
   * @returns the number of records that named the person, and the next cursor; null when all are done
   */
  async redact(person: Person, cursor: Redaction | null): Promise<{ changed: number; next: Redaction | null }> {
    return this.#runExclusively(async () => {
      const mover = this.#isErased ? undefined : this.#mover();
      if (!mover) return { changed: 0, next: null };
      // With the first and the last call as well: what was read before, or in between, is read again.
      this.ctx.storage.kv.put(REDACTIONS, this.#redactions + 1);
      if (!cursor) {
        this.#moves += 1;
        rememberForgotten(this.ctx.storage, person, clock.now());
        return { changed: await redactRows(this.#sql, person, pause), next: { kind: LOG_KINDS[0], after: null } };
      }
      const { kind } = cursor;
      let { after } = cursor;
      let changed = 0;
      for (let files = 0; files < FILES_A_CALL; files += 1) {
        const done = await redactPart(mover, kind, person, after);
        changed += done.changed;
        if (done.next === null) {
          const next = LOG_KINDS[LOG_KINDS.indexOf(kind) + 1];
          return { changed, next: next === undefined ? null : { kind: next, after: null } };
        }
        after = done.next;
      }
      return { changed, next: { kind, after } };
    });
  }

  /** Moving and redacting both write files anew: one after the other. */
  async #runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const mine = Promise.withResolvers<void>();
    this.#turn = mine.promise;
    await before;
    try {
      return await work();
    } finally {
      mine.resolve();
    }
  }

  get #redactions(): number {
    return this.ctx.storage.kv.get<number>(REDACTIONS) ?? 0;
  }

  #mover(): Mover | undefined {
    const name = this.ctx.storage.kv.get<string>(NAME);
    return name === undefined
      ? undefined
      : { storage: this.ctx.storage, files: this.env.FILES, name, changed: () => this.#countMove() };
  }

  /**
   * Keeps records, each once by its id. Records of a time that was moved already wait to be put among it.
   * @param name the name of the log
   * @returns how many were new, each of which is a row written
   */
  async append(name: string, kind: LogKind, records: readonly Logged[]): Promise<number> {
    if (this.#isErased) return 0;
    const { storage } = this.ctx;
    const moved = readLastMoved(this.#sql, kind);
    const isLate = (record: Logged) => moved !== undefined && compareKeys(toKey(record), moved) <= 0;
    const unique = [...new Map(records.toReversed().map((record) => [record.id, record])).values()];
    const once = redactForgotten(storage, unique);
    const news = once.filter((record) => !isLate(record) && !isKnownInMinute(this.#sql, kind, record));
    const late = once.filter(isLate);
    if (storage.kv.get(NAME) === undefined) storage.kv.put(NAME, name);
    const lateSeen = kind === 'share' ? findLateViews(this.#sql, news as Logged<'share'>[]) : [];
    const used =
      kind === 'audit'
        ? [[news, false] as const, [late, true] as const].flatMap(([records, isOfLate]) =>
            findNewlyUsed(this.#sql, records as Logged<'audit'>[], isOfLate),
          )
        : [];
    recordLate(this.#sql, kind, once);
    const written = insertRecords(this.#sql, kind, news) + insertRecords(this.#sql, kind, late, true);
    countLate(this.#sql, lateSeen);
    countUsed(this.#sql, used);
    if (written > 0) forgetCounts(this.#sql, kind, news);
    await this.#wakeBy(clock.now() + (late.length > 0 || isFull(this.#sql) ? LATE_RECORDS_DELAY_MS : DAY_MS));
    if (written > 0 && listFollowedKinds(this.#sql).includes(kind))
      await this.#wakeBy(clock.now() + NOTIFY_FOLLOWERS_DELAY_MS);
    return written;
  }

  /** Keeps records of both kinds: one call for all that comes together. */
  async appendAll(name: string, records: Partial<Record<LogKind, readonly Logged[]>>): Promise<void> {
    for (const kind of LOG_KINDS) {
      const ofKind = records[kind] ?? [];
      if (ofKind.length > 0) await this.append(name, kind, ofKind);
    }
  }

  /** Has later records of these kinds told to the follower of the log. Called again, it changes nothing. */
  follow(name: string, kinds: readonly LogKind[]): void {
    this.ctx.storage.kv.put(NAME, name);
    startFollowing(this.#sql, kinds, { at: clock.now(), id: '' });
  }

  /** Ends following these kinds, unless somebody has begun to since `follows` was read. */
  unfollow(kinds: readonly LogKind[], follows: number): void {
    stopFollowing(this.#sql, kinds, follows);
  }

  /** The next records in the log's order, from files too, the same until `followed`. Undefined if nobody follows. */
  following(kind: LogKind, limit: number): Promise<FollowedRecords | undefined> {
    return this.#runExclusively(async () => {
      const redactions = this.#redactions;
      const found = await readFollowing({ sql: this.#sql, files: this.env.FILES }, kind, limit);
      return found && { ...found, redactions };
    });
  }

  /** Notes that records of `following` were kept. @returns false where a person was taken out: read them again */
  followed(kind: LogKind, told: Pick<FollowedRecords, 'upTo' | 'late' | 'redactions'>): boolean {
    if (told.redactions !== this.#redactions) return false;
    advanceCursor(this.#sql, kind, told);
    return true;
  }

  /** The object's part of a page, with the exact number of its records, and the files that the list goes on in. */
  async list(kind: LogKind, filter: LogFilter, skip: number, limit: number): Promise<LogPage> {
    const reading = { sql: this.#sql, state: () => this.#moves, pause };
    return listRecords(reading, kind, filter, skip, limit);
  }

  /** The next records of a filter before one, the newest first; or the files that have the rest. */
  async next(
    kind: LogKind,
    filter: LogFilter,
    before: LogKey | null,
    limit: number,
  ): Promise<{ records: Logged[]; parts: ListedPart[] }> {
    const { lower, upper } = toRange(filter);
    const range = { lower, upper: before ?? upper };
    const records = [...readRecordsIn(this.#sql, kind, range, { wanted: filter, newestFirst: true, limit })];
    const parts = records.length > 0 ? [] : listPartsIn(this.#sql, kind, range);
    return { records, parts: await countParts(this.#sql, kind, parts, filter, pause) };
  }

  /**
   * Counts how often shares were seen, by interval, as far as the events are still in the object; returns the files with the
   * others.
   * @param starts where the intervals begin, ascending, in milliseconds
   */
  async analytics(filter: LogFilter, starts: readonly number[]): Promise<OwnAnalytics> {
    const range = toRange(filter);
    const parts = listPartsIn(this.#sql, 'share', range);
    const own = readAnalytics(this.#sql, range, filter, starts, parts.length > 0);
    const moved = this.#lastMoved();
    // Read in one turn until here: no event is in both or in neither.
    return { ...own, moved, parts: await countParts(this.#sql, 'share', parts, filter, pause) };
  }

  /** The viewers of the object's own events (see {@link readViewers}), and up to where events have been moved. */
  viewers(
    filter: LogFilter,
    page: { end: number; after: string; limit: number },
  ): { viewers: SeenViewer[]; moved: LogKey | null } {
    return { viewers: readViewers(this.#sql, toRange(filter), filter, page), moved: this.#lastMoved() };
  }

  /** The use by the company's requests, by day, counted from the epoch; both ends are included. */
  usedDays(from: number, to: number): UsedDay[] {
    return readUsedDays(this.#sql, from, to);
  }

  #lastMoved(): LogKey | null {
    return readLastMoved(this.#sql, 'share') ?? null;
  }

  /** Adds executions of a share (none when it was only opened) and when it was last opened, of which no event tells. */
  addViews(views: ShareViews): void {
    addViews(this.#sql, views);
  }

  /** Sets the counts of shares from before there was this log. Repeated, it is the same. */
  putViewsBefore(views: readonly ShareViews[]): void {
    for (const each of views) putViewsBefore(this.#sql, each);
  }

  /** The counts of these shares; those never opened are missing. */
  async views(shareIds: readonly string[]): Promise<ShareViews[]> {
    while (countViews(this.#sql)) await scheduler.wait(0);
    return readViews(this.#sql, shareIds);
  }

  /** Moves due records, in steps that may be repeated. A step that fails is tried again, however long it takes. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    if (this.#isErased) return;
    try {
      purgeForgotten(this.#sql, clock.now());
      await this.#tellFollowers();
      const isDone = await this.#runExclusively(() => this.#move());
      await this.#wakeBy(isDone ? this.#nextDay() : clock.now() + 1);
    } catch (error) {
      logError('log_not_moved', error);
      await this.#wakeBy(clock.now() + RETRY_MS);
    }
  }

  async #tellFollowers(): Promise<void> {
    const companyId = this.ctx.storage.kv.get<string>(NAME);
    if (companyId === undefined || !listFollowedKinds(this.#sql).some((kind) => hasUnreadRecords(this.#sql, kind)))
      return;
    try {
      await this.env.WEBHOOKS.send({ type: 'webhooks.stream', companyId });
    } catch (error) {
      logError('followers_not_told', error);
      await this.#wakeBy(clock.now() + NOTIFY_FOLLOWERS_DELAY_MS);
    }
  }

  async #move(): Promise<boolean> {
    const mover = this.#mover();
    if (!mover) return true;
    while (countViews(this.#sql)) await scheduler.wait(0);
    const until = Date.now() + RUN_MS;
    for (let isDone = false; !isDone; ) {
      if (Date.now() > until) return false;
      isDone = true;
      for (const kind of LOG_KINDS) {
        if (await mergeLate(mover, kind)) isDone = false;
        if (await moveOldest(mover, kind, clock.now() - this.#retention())) isDone = false;
      }
      const fullest = isFull(this.#sql) ? this.#kindOfOldest() : undefined;
      if (fullest && (await moveOldest(mover, fullest, Number.POSITIVE_INFINITY))) isDone = false;
    }
    await deleteLeftovers(mover);
    return true;
  }

  #countMove(): void {
    this.#moves += 1;
  }

  /** The kind that the oldest record is of. */
  #kindOfOldest(): LogKind | undefined {
    const oldest = LOG_KINDS.flatMap((kind) => {
      const found = readNewestOrOldest(this.#sql, kind, toRange({}), 'oldest');
      return found ? [{ kind, ...found }] : [];
    });
    return oldest.sort(compareKeys)[0]?.kind;
  }

  /** The time at which the oldest day is to be moved; within a day, since the configuration may change. */
  #nextDay(): number {
    const now = clock.now();
    const ends = LOG_KINDS.flatMap((kind) => readNewestOrOldest(this.#sql, kind, toRange({}), 'oldest') ?? []).map(
      ({ at }) => (Math.floor(at / DAY_MS) + 1) * DAY_MS + this.#retention(),
    );
    return Math.max(now + RETRY_MS, Math.min(now + DAY_MS, ...ends));
  }

  #retention(): number {
    return Number(this.env.AUDIT_RETENTION_DAYS || DEFAULT_RETENTION_DAYS) * DAY_MS;
  }

  async #wakeBy(at: number): Promise<void> {
    if (this.#alarmAt !== null && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    await this.ctx.storage.setAlarm(at);
  }
}
