/** Returned instead of an offset: the value is null. */
export const NULL = -1;
/** Returned instead of an offset: the value does not fit the type. */
export const MISFIT = -2;
/** Bytes that a value may need beyond its own length. */
export const CONVERSION_ROOM = 32;

/** The type to which a value is converted, and the forms in which it is read. */
export interface Conversion {
  type: 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';
  /** The forms (forms.ts) of the column's numbers and dates. */
  decimal: number;
  date: number;
  /** The session's time zone, where it is not UTC; null otherwise. */
  zone: ZoneEdges | null;
}

/**
 * The range of local times of a zone that lie within 0001-01-01 to 9999-12-31 in UTC: `first` seconds after midnight of
 * the first day, and less than `last` seconds after midnight of the last day.
 */
export interface ZoneEdges {
  first: number;
  last: number;
}
