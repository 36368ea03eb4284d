/** Result instead of an offset: the value is null. */
export const NULL_RESULT = -1;
/** Result instead of an offset: the value does not fit the type. */
export const MISFIT_RESULT = -2;
/** Number of bytes that a converted value may need beyond its own length. */
export const MAX_EXTRA_BYTES = 32;

/** Type to which a value is converted, and the forms in which it is read. */
export interface Conversion {
  type: 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';
  /** Bit mask of the forms (forms.ts) of the column's numbers. */
  decimalForms: number;
  /** Bit mask of the forms (forms.ts) of the column's dates. */
  dateForms: number;
  /** Time zone of the session, if it is not UTC; null otherwise. */
  zone: ZoneEdges | null;
}

/**
 * Range of local times of a zone that lie within 0001-01-01 to 9999-12-31 in UTC: `first` seconds after midnight of the first
 * day, and less than `last` seconds after midnight of the last day.
 */
export interface ZoneEdges {
  firstSecond: number;
  endSecond: number;
}
