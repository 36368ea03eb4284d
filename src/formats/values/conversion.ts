/** Instead of a place: the value is null. */
export const NULL = -1;
/** Instead of a place: the value does not fit the type. */
export const MISFIT = -2;
/** Bytes that a value may need beyond its own length. */
export const CONVERSION_ROOM = 32;

/** What a value that is not text is converted to, and how it reads. */
export interface Conversion {
  type: 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';
  /** The forms (forms.ts) by which the column's numbers and dates read. */
  decimal: number;
  date: number;
  /** The session's time zone, where it is not UTC; null otherwise. */
  zone: ZoneEdges | null;
}

/**
 * What is left of the first and the last day that there are, 0001-01-01 and 9999-12-31 in UTC, in the local time of a zone:
 * from `first` seconds after the one's midnight, and before `last` seconds after the other's.
 */
export interface ZoneEdges {
  first: number;
  last: number;
}
