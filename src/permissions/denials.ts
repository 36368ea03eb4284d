import { compilePattern } from './wildcard.ts';

/** The ids that a caller is denied. A pattern matches ids of 24 hexadecimal digits, `*` in it any run of digits. */
export interface Denials {
  /** Whether all ids are denied. */
  everything: boolean;
  ids: readonly string[];
  /** The patterns of further denied ids. */
  patterns: readonly string[];
}

export const NOTHING_DENIED: Denials = { everything: false, ids: [], patterns: [] };
export const EVERYTHING_DENIED: Denials = { everything: true, ids: [], patterns: [] };

/** Tells whether nothing is denied, so that no id needs to be checked. */
export const isNothingDenied = ({ everything, ids, patterns }: Denials): boolean =>
  !everything && ids.length === 0 && patterns.length === 0;

/** Makes a function that tells whether an id is denied. */
export function makeDenialCheck({ everything, ids, patterns }: Denials): (id: string) => boolean {
  if (everything) return () => true;
  const deniedIds = new Set(ids);
  const matchers = patterns.map(compilePattern);
  return (id) => deniedIds.has(id) || matchers.some((matchesPattern) => matchesPattern(id));
}
