import { DurableObject } from 'cloudflare:workers';
import { clock, DAY_MS, MINUTE_MS } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { readAnalytics, readViewers, type SeenViewer, type StoredAnalytics } from '../logs/analytics.ts';
import { addUsage, createUsedDaysTable, findNewUsageRecords, readUsedDays, type UsedDay } from '../logs/daily-usage.ts';
import { clearCachedTables, takeOverFormerTables } from '../logs/day-tables.ts';
import {
  createErasedPersonsTable,
  makePseudonym,
  purgeErasedPersons,
  recordErasedPerson,
  redactErasedPersons,
} from '../logs/erased-persons.ts';
import {
  advanceCursor,
  createFollowingTables,
  type FollowedRecords,
  hasUnreadRecords,
  listFollowedKinds,
  readFollowedRecords,
  recordLateKeys,
  startFollowing,
  stopFollowing,
} from '../logs/followed-records.ts';
import { deleteDayCounts, type LogPage, listRecords } from '../logs/listing.ts';
import {
  compareKeys,
  DEFAULT_RETENTION_DAYS,
  LOG_KINDS,
  type LogFilter,
  type LogKey,
  type LogKind,
  type LogRecord,
  toLogKey,
  toRange,
} from '../logs/log.ts';
import { deleteLeftovers, type Mover, mergeLateRecords, moveOldestRecords } from '../logs/move-to-files.ts';
import { countParts, type ListedPart, listPartsInRange, readLastMovedKey } from '../logs/parts.ts';
import { redactPart, redactRows } from '../logs/person.ts';
import type { Person } from '../logs/redaction.ts';
import {
  countRecordsInRange,
  insertRecords,
  isDatabaseFull,
  isStoredInMinute,
  readNewestOrOldest,
  readRecordsInRange,
} from '../logs/rows.ts';
import { createTables } from '../logs/tables.ts';
import { countLateViews, countViews, createViewsCursorTable, findLateViews } from '../logs/view-counts.ts';
import { addViews, readViews, type ShareViews, setViewsBefore } from '../logs/views.ts';
import { logError } from '../platform/log.ts';
import { eraseStorage } from './erase-storage.ts';

/** The maximum duration of a run that moves records. */
const MAX_RUN_MS = 20_000;
/** The time until records that arrived late are merged into the files. */
const LATE_RECORDS_DELAY_MS = 5_000;
/** The time until a failed step is tried again. */
const RETRY_DELAY_MS = 5 * MINUTE_MS;

const NAME_KEY = 'name';
/**
 * The key that marks the log of an erased company; nothing else remains. Such a log takes no more records, however late they
 * come.
 */
const ERASED_KEY = 'erased';
const REDACTIONS_KEY = 'redactions';

/** The number of files that one call reads and, where necessary, writes again. */
const FILES_PER_CALL = 10;

/** The progress of a redaction through the files. */
export interface RedactionCursor {
  kind: LogKind;
  /** The key after which the next file to redact follows; null before the first file. */
  after: LogKey | null;
}

/** The delay before followers of the log are notified of new records, and before a failed notification is sent again. */
const NOTIFY_FOLLOWERS_DELAY_MS = 5_000;

interface LogBindings {
  FILES: R2Bucket;
  WEBHOOKS: Queue;
  AUDIT_RETENTION_DAYS?: string;
}

/** Pauses, so that other requests to the object can run. */
const yieldToOtherTasks = (): Promise<void> => scheduler.wait(0);

/**
 * The log of a company, or of records that belong to no company: audit records and share events. Days older than the
 * retention are moved to files in R2, where lists continue; they are moved early when the object is nearly full.
 */
export class CompanyLog extends DurableObject<LogBindings> {
  readonly #sql = this.ctx.storage.sql;
  #alarmAt: number | null = null;
  #isErased: boolean;
  /** Resolves when no call writes files. */
  #turn: Promise<void> = Promise.resolve();
  /** The number of times that records were moved. */
  #moveCount = 0;

  constructor(state: DurableObjectState, env: LogBindings) {
    super(state, env);
    this.#isErased = state.storage.kv.get(ERASED_KEY) === true;
    if (!this.#isErased) this.#open();
    void state.blockConcurrencyWhile(async () => {
      this.#alarmAt = await state.storage.getAlarm();
    });
  }

  #open(): void {
    createTables(this.#sql);
    takeOverFormerTables(this.#sql);
    createViewsCursorTable(this.#sql);
    createUsedDaysTable(this.#sql);
    createFollowingTables(this.#sql);
    createErasedPersonsTable(this.#sql);
  }

  /** Deletes all records for good, except those in files, and returns how many there were. */
  async erase(): Promise<number> {
    if (this.#isErased) return 0;
    const { storage } = this.ctx;
    const fullRange = toRange({});
    const records = LOG_KINDS.reduce((sum, kind) => sum + countRecordsInRange(this.#sql, kind, fullRange), 0);
    // From here on nothing is kept, whatever comes in between.
    this.#isErased = true;
    this.#moveCount += 1;
    await eraseStorage(storage);
    clearCachedTables(this.#sql);
    storage.kv.put(ERASED_KEY, true);
    return records;
  }

  /** Makes the pseudonym of an email address; of an erased company nothing is left that has another one. */
  makePseudonym(email: string): string {
    return this.#isErased ? newId(clock.now()) : makePseudonym(this.ctx.storage, email);
  }

  /**
   * Replaces a person by a pseudonym in a batch of records: first in the object's records, including older records that arrive
   * later, then in a few log files per call. @param cursor where to continue; null to start @returns the number of records that
   * named the person, and the next cursor; null when all are done
   */
  async redact(
    person: Person,
    cursor: RedactionCursor | null,
  ): Promise<{ changed: number; next: RedactionCursor | null }> {
    return this.#runExclusively(async () => {
      const mover = this.#isErased ? undefined : this.#makeMover();
      if (!mover) return { changed: 0, next: null };
      // With the first and the last call as well: what was read before, or in between, is read again.
      this.ctx.storage.kv.put(REDACTIONS_KEY, this.#redactions + 1);
      if (!cursor) {
        this.#moveCount += 1;
        recordErasedPerson(this.ctx.storage, person, clock.now());
        return {
          changed: await redactRows(this.#sql, person, yieldToOtherTasks),
          next: { kind: LOG_KINDS[0], after: null },
        };
      }
      const { kind } = cursor;
      let { after } = cursor;
      let changedCount = 0;
      for (let fileCount = 0; fileCount < FILES_PER_CALL; fileCount += 1) {
        const redactedPart = await redactPart(mover, kind, person, after);
        changedCount += redactedPart.changedCount;
        if (redactedPart.nextKey === null) {
          const nextKind = LOG_KINDS[LOG_KINDS.indexOf(kind) + 1];
          return { changed: changedCount, next: nextKind === undefined ? null : { kind: nextKind, after: null } };
        }
        after = redactedPart.nextKey;
      }
      return { changed: changedCount, next: { kind, after } };
    });
  }

  /** Runs `work` when no other such work is running, as moving and redacting both rewrite files. */
  async #runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const previousTurn = this.#turn;
    const ownTurn = Promise.withResolvers<void>();
    this.#turn = ownTurn.promise;
    await previousTurn;
    try {
      return await work();
    } finally {
      ownTurn.resolve();
    }
  }

  get #redactions(): number {
    return this.ctx.storage.kv.get<number>(REDACTIONS_KEY) ?? 0;
  }

  #makeMover(): Mover | undefined {
    const { storage } = this.ctx;
    const name = storage.kv.get<string>(NAME_KEY);
    const reportChange = () => {
      this.#moveCount += 1;
    };
    return name === undefined ? undefined : { storage, files: this.env.FILES, name, reportChange };
  }

  /**
   * Stores records, each once by its id. Records of a time that was already moved to files wait to be merged into the files.
   * @param name the name of the log @returns how many were new, each of which is a row written
   */
  async append(name: string, kind: LogKind, records: readonly LogRecord[]): Promise<number> {
    if (this.#isErased) return 0;
    const { storage } = this.ctx;
    const lastMovedKey = readLastMovedKey(this.#sql, kind);
    const isLate = (record: LogRecord) =>
      lastMovedKey !== undefined && compareKeys(toLogKey(record), lastMovedKey) <= 0;
    const uniqueRecords = [...new Map(records.toReversed().map((record) => [record.id, record])).values()];
    const redactedRecords = redactErasedPersons(storage, uniqueRecords);
    const newRecords = redactedRecords.filter(
      (record) => !isLate(record) && !isStoredInMinute(this.#sql, kind, record),
    );
    const lateRecords = redactedRecords.filter(isLate);
    if (storage.kv.get(NAME_KEY) === undefined) storage.kv.put(NAME_KEY, name);
    const lateViews = kind === 'share' ? findLateViews(this.#sql, newRecords as LogRecord<'share'>[]) : [];
    const newUsageRecords =
      kind === 'audit'
        ? [
            ...findNewUsageRecords(this.#sql, newRecords as LogRecord<'audit'>[], false),
            ...findNewUsageRecords(this.#sql, lateRecords as LogRecord<'audit'>[], true),
          ]
        : [];
    recordLateKeys(this.#sql, kind, redactedRecords);
    const writtenCount = insertRecords(this.#sql, kind, newRecords) + insertRecords(this.#sql, kind, lateRecords, true);
    countLateViews(this.#sql, lateViews);
    addUsage(this.#sql, newUsageRecords);
    if (writtenCount > 0) deleteDayCounts(this.#sql, kind, newRecords);
    await this.#wakeBy(
      clock.now() + (lateRecords.length > 0 || isDatabaseFull(this.#sql) ? LATE_RECORDS_DELAY_MS : DAY_MS),
    );
    if (writtenCount > 0 && listFollowedKinds(this.#sql).includes(kind))
      await this.#wakeBy(clock.now() + NOTIFY_FOLLOWERS_DELAY_MS);
    return writtenCount;
  }

  /** Stores records of both kinds that arrive together in one call. */
  async appendAll(name: string, records: Partial<Record<LogKind, readonly LogRecord[]>>): Promise<void> {
    for (const kind of LOG_KINDS) {
      const kindRecords = records[kind] ?? [];
      if (kindRecords.length > 0) await this.append(name, kind, kindRecords);
    }
  }

  /** Makes the log notify its follower of later records of these kinds. A repeated call changes nothing. */
  follow(name: string, kinds: readonly LogKind[]): void {
    this.ctx.storage.kv.put(NAME_KEY, name);
    startFollowing(this.#sql, kinds, { at: clock.now(), id: '' });
  }

  /** Ends following these kinds, unless following them was begun again since `follows` was read. */
  unfollow(kinds: readonly LogKind[], follows: number): void {
    stopFollowing(this.#sql, kinds, follows);
  }

  /**
   * Returns the next records in the log's order, also from files; repeated calls return the same records until
   * `followed` is called. Undefined if nobody follows the log.
   */
  following(kind: LogKind, limit: number): Promise<FollowedRecords | undefined> {
    return this.#runExclusively(async () => {
      const redactions = this.#redactions;
      const followedRecords = await readFollowedRecords({ sql: this.#sql, files: this.env.FILES }, kind, limit);
      return followedRecords && { ...followedRecords, redactions };
    });
  }

  /**
   * Records that the follower has stored records of `following`. @returns false where a person was redacted meanwhile: read them
   * again
   */
  followed(kind: LogKind, progress: Pick<FollowedRecords, 'upTo' | 'late' | 'redactions'>): boolean {
    if (progress.redactions !== this.#redactions) return false;
    advanceCursor(this.#sql, kind, progress);
    return true;
  }

  /** Lists the object's part of a page, with the exact number of its records, and the files with the rest of the list. */
  async list(kind: LogKind, filter: LogFilter, skipCount: number, limit: number): Promise<LogPage> {
    const readState = { sql: this.#sql, getMoveCount: () => this.#moveCount, pause: yieldToOtherTasks };
    return listRecords(readState, kind, filter, skipCount, limit);
  }

  /**
   * Returns the records of a filter before `beforeKey` (null for the end of the log), the newest first; if the object has none
   * of them, the files that may contain such records.
   */
  async next(
    kind: LogKind,
    filter: LogFilter,
    beforeKey: LogKey | null,
    limit: number,
  ): Promise<{ records: LogRecord[]; parts: ListedPart[] }> {
    const { lower, upper } = toRange(filter);
    const range = { lower, upper: beforeKey ?? upper };
    const records = [
      ...readRecordsInRange(this.#sql, kind, range, { fieldFilter: filter, isNewestFirst: true, limit }),
    ];
    const parts = records.length > 0 ? [] : listPartsInRange(this.#sql, kind, range);
    return { records, parts: await countParts(this.#sql, kind, parts, filter, yieldToOtherTasks) };
  }

  /**
   * Counts how often shares were seen, by interval, from events that are still in the object; returns the files with the other
   * events. @param intervalStarts the beginnings of the intervals, ascending, in milliseconds
   */
  async analytics(filter: LogFilter, intervalStarts: readonly number[]): Promise<StoredAnalytics> {
    const range = toRange(filter);
    const parts = listPartsInRange(this.#sql, 'share', range);
    const ownCounts = readAnalytics(this.#sql, range, filter, intervalStarts, parts.length > 0);
    const moved = readLastMovedKey(this.#sql, 'share') ?? null;
    // Read in one turn until here: no event is in both or in neither.
    return {
      ...ownCounts,
      moved,
      parts: await countParts(this.#sql, 'share', parts, filter, yieldToOtherTasks),
    };
  }

  /**
   * Returns the viewers of the events that the object still has (see {@link readViewers}), and the key up to which
   * events have been moved to files.
   */
  viewers(
    filter: LogFilter,
    page: { end: number; after: string; limit: number },
  ): { viewers: SeenViewer[]; moved: LogKey | null } {
    const moved = readLastMovedKey(this.#sql, 'share') ?? null;
    return { viewers: readViewers(this.#sql, toRange(filter), filter, page), moved };
  }

  /** Returns the usage that the company's requests caused, by day. Days are counted from the epoch; both ends are included. */
  usedDays(from: number, to: number): UsedDay[] {
    return readUsedDays(this.#sql, from, to);
  }

  /** Adds a number of executions of a share (0 if it was only opened) and its last opening, where no event records them. */
  addViews(views: ShareViews): void {
    addViews(this.#sql, views);
  }

  /** Sets the view counts of shares from before this log existed. A repeated call changes nothing. */
  putViewsBefore(views: readonly ShareViews[]): void {
    for (const shareViews of views) setViewsBefore(this.#sql, shareViews);
  }

  /** Returns the view counts of these shares; shares that were never opened are left out. */
  async views(shareIds: readonly string[]): Promise<ShareViews[]> {
    while (countViews(this.#sql)) await scheduler.wait(0);
    return readViews(this.#sql, shareIds);
  }

  /** Moves due records, in steps that may be repeated. A failed step is tried again without limit. */
  override async alarm(): Promise<void> {
    this.#alarmAt = null;
    if (this.#isErased) return;
    try {
      purgeErasedPersons(this.#sql, clock.now());
      await this.#tellFollowers();
      const isDone = await this.#runExclusively(() => this.#move());
      await this.#wakeBy(isDone ? this.#computeNextDayTime() : clock.now() + 1);
    } catch (error) {
      logError('log_not_moved', error);
      await this.#wakeBy(clock.now() + RETRY_DELAY_MS);
    }
  }

  async #tellFollowers(): Promise<void> {
    const companyId = this.ctx.storage.kv.get<string>(NAME_KEY);
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
    const mover = this.#makeMover();
    if (!mover) return true;
    while (countViews(this.#sql)) await scheduler.wait(0);
    const deadline = Date.now() + MAX_RUN_MS;
    for (let isDone = false; !isDone; ) {
      if (Date.now() > deadline) return false;
      isDone = true;
      for (const kind of LOG_KINDS) {
        if (await mergeLateRecords(mover, kind)) isDone = false;
        if (await moveOldestRecords(mover, kind, clock.now() - this.#getRetention())) isDone = false;
      }
      const fullKind = isDatabaseFull(this.#sql) ? this.#findOldestKind() : undefined;
      if (fullKind && (await moveOldestRecords(mover, fullKind, Number.POSITIVE_INFINITY))) isDone = false;
    }
    await deleteLeftovers(mover);
    return true;
  }

  /** Finds the kind of the oldest record. */
  #findOldestKind(): LogKind | undefined {
    const oldestOfKinds = LOG_KINDS.flatMap((kind) => {
      const oldestRecord = readNewestOrOldest(this.#sql, kind, toRange({}), 'oldest');
      return oldestRecord ? [{ kind, ...oldestRecord }] : [];
    });
    return oldestOfKinds.sort(compareKeys)[0]?.kind;
  }

  /** Computes the time at which the oldest day is to be moved; at most a day from now, since the configuration may change. */
  #computeNextDayTime(): number {
    const now = clock.now();
    const dayEnds = LOG_KINDS.flatMap((kind) => readNewestOrOldest(this.#sql, kind, toRange({}), 'oldest') ?? []).map(
      ({ at }) => (Math.floor(at / DAY_MS) + 1) * DAY_MS + this.#getRetention(),
    );
    return Math.max(now + RETRY_DELAY_MS, Math.min(now + DAY_MS, ...dayEnds));
  }

  #getRetention(): number {
    return Number(this.env.AUDIT_RETENTION_DAYS || DEFAULT_RETENTION_DAYS) * DAY_MS;
  }

  async #wakeBy(at: number): Promise<void> {
    if (this.#alarmAt !== null && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    await this.ctx.storage.setAlarm(at);
  }
}
