import { DAY_MS } from '../kernel/clock.ts';
import { type Denials, makeDenialCheck } from '../permissions/denials.ts';
import type { ShareEvent } from '../sharing/share-event.ts';
import type { AuditRecord } from './audit-record.ts';

/** The kinds of records in a company's log: its requests, and the events of its shares. */
export interface LogRecords {
  audit: AuditRecord;
  share: ShareEvent;
}

export type LogKind = keyof LogRecords;

export const LOG_KINDS = ['audit', 'share'] as const satisfies LogKind[];

/** A record as stored in its company's log, without the company's id. */
export type LogRecord<K extends LogKind = LogKind> = Omit<LogRecords[K], 'companyId'>;

/** The fields of a record by which a list may be narrowed. */
export interface LogFilterField {
  audit: 'correlationId' | 'principalId' | 'action';
  share: 'type' | 'targetType' | 'shareId' | 'shareContextId';
}

/**
 * Records with denied ids in one field and, if given, a value in another. The field `details.member_id` is a member of
 * `details`.
 */
export interface DeniedRecords {
  field: string;
  denied: Denials;
  where?: { field: string; value: string };
}

/** The records of a log that a query selects. Times in milliseconds, both ends included. */
export interface LogFilter {
  /** The time of the oldest records selected. */
  from?: number;
  /** The time of the newest records selected. */
  to?: number;
  /** The values that these fields must have. */
  values: Readonly<Record<string, string>>;
  denied?: readonly DeniedRecords[];
}

/** A filter without its times. */
export type LogFieldFilter = Pick<LogFilter, 'values' | 'denied'>;

/** The position of a record in its log: records of one time are ordered by id. */
export interface LogKey {
  at: number;
  id: string;
}

/** A range of records from `lower`, included, up to `upper`, not included. */
export interface LogRange {
  lower: LogKey;
  upper: LogKey;
}

/** The name of the log for records of no company: anonymous requests and the operator's. */
export const PLATFORM_LOG = 'platform';

/** Days that records stay in their Durable Object when the configuration does not say. */
export const DEFAULT_RETENTION_DAYS = 90;

/** Compares two keys, for sorting. */
export const compareKeys = (a: LogKey, b: LogKey): number => a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export const toLogKey = ({ occurredAt, id }: { occurredAt: number; id: string }): LogKey => ({ at: occurredAt, id });

/** Returns the smallest key that is greater than this one. */
export const getKeyAfter = ({ at, id }: LogKey): LogKey => ({ at, id: `${id}\u0000` });

/** Returns the range that two ranges share; null for none. */
export function intersectRanges(range: LogRange, otherRange: LogRange): LogRange | null {
  const lowerKey = compareKeys(range.lower, otherRange.lower) > 0 ? range.lower : otherRange.lower;
  const upper = compareKeys(range.upper, otherRange.upper) < 0 ? range.upper : otherRange.upper;
  return compareKeys(lowerKey, upper) < 0 ? { lower: lowerKey, upper } : null;
}

/** Returns the range of the day that contains a time. */
export function getDayRange(at: number): LogRange {
  const start = Math.floor(at / DAY_MS) * DAY_MS;
  return { lower: { at: start, id: '' }, upper: { at: start + DAY_MS, id: '' } };
}

/** Returns the range of all records that a filter's times allow. */
export const toRange = ({ from, to }: Pick<LogFilter, 'from' | 'to'>): LogRange => ({
  lower: { at: from ?? Number.MIN_SAFE_INTEGER, id: '' },
  upper: { at: to === undefined ? Number.MAX_SAFE_INTEGER : to + 1, id: '' },
});

/** Formats the day of a time, as in `2026-01-31`. */
export const formatDay = (at: number): string => new Date(at).toISOString().slice(0, 'YYYY-MM-DD'.length);

/** Returns a function that tells whether a record matches a filter, at any time. */
export function makeRecordMatcher({ values, denied: deniedRecords = [] }: LogFieldFilter): (record: object) => boolean {
  const readField = (record: object, field: string): unknown =>
    field.split('.').reduce<unknown>((value, name) => Object(value)[name], record);
  const hasValue = (record: object, field: string, value: string) => readField(record, field) === value;
  const denialMatchers = deniedRecords.map(({ field, where, denied: ids }) => {
    const isDenied = makeDenialCheck(ids);
    return (record: object) => {
      const id = readField(record, field);
      return typeof id === 'string' && (!where || hasValue(record, where.field, where.value)) && isDenied(id);
    };
  });
  return (record) =>
    Object.entries(values).every(([field, value]) => hasValue(record, field, value)) &&
    !denialMatchers.some((matchesDenial) => matchesDenial(record));
}
