import { compile } from './wildcard.ts';

/** The ids that somebody is denied. A pattern stands for ids of 24 hexadecimal digits, `*` for any run of them. */
export interface Denials {
  everything: boolean;
  ids: readonly string[];
  patterns: readonly string[];
}

export const NOTHING_DENIED: Denials = { everything: false, ids: [], patterns: [] };

/** Whether nothing is denied, so that nothing needs to ask. */
export const isNothingDenied = ({ everything, ids, patterns }: Denials): boolean =>
  !everything && ids.length === 0 && patterns.length === 0;

/** Tells of one id after another whether it is denied. */
export function deniedBy({ everything, ids, patterns }: Denials): (id: string) => boolean {
  if (everything) return () => true;
  const known = new Set(ids);
  const matchers = patterns.map(compile);
  return (id) => known.has(id) || matchers.some((fits) => fits(id));
}
