/** A compiled pattern: a function that tells whether the whole of `text` matches it. */
export type Matcher = (text: string) => boolean;

/**
 * The number of compiled patterns that are cached: enough for the policies of many companies at a time, and at 512 characters
 * each a few MB.
 */
const MAX_CACHED_PATTERNS = 2048;
const compiledPatterns = new Map<string, Matcher>();

/**
 * Compiles a pattern in which `*` matches any run of characters, also the empty run and a literal `*`. Every other character
 * matches itself; case counts. Matching looks for each literal part once, from left to right, and never backtracks: with only
 * this one wildcard the leftmost match of a part is always as good as any later one.
 */
export function compilePattern(pattern: string): Matcher {
  const cachedMatcher = compiledPatterns.get(pattern);
  if (cachedMatcher) return cachedMatcher;
  const matcher = buildMatcher(pattern);
  if (compiledPatterns.size >= MAX_CACHED_PATTERNS)
    compiledPatterns.delete(compiledPatterns.keys().next().value as string);
  compiledPatterns.set(pattern, matcher);
  return matcher;
}

/** Tells whether the whole of `text` matches `pattern`. */
export const matchesPattern = (pattern: string, text: string): boolean => compilePattern(pattern)(text);

/** Tells whether a pattern matches every text. */
export const matchesEverything = (pattern: string): boolean => /^\*+$/.test(pattern);

function buildMatcher(pattern: string): Matcher {
  const parts = pattern.split('*');
  if (parts.length === 1) return (text) => text === pattern;

  const head = parts[0] as string;
  const tail = parts.at(-1) as string;
  const middle = parts.slice(1, -1).filter((literal) => literal !== '');
  const minLength = parts.reduce((sum, literal) => sum + literal.length, 0);
  if (minLength === 0) return () => true;
  if (middle.length === 0 && tail === '') return (text) => text.startsWith(head);

  return (text) => {
    if (text.length < minLength || !text.startsWith(head) || !text.endsWith(tail)) return false;
    const end = text.length - tail.length;
    let at = head.length;
    for (const literal of middle) {
      const foundIndex = text.indexOf(literal, at);
      if (foundIndex < 0) return false;
      at = foundIndex + literal.length;
    }
    return at <= end;
  };
}

/**
 * Tells whether a text could match both patterns, by their literal ends alone: also true for some pairs that no text matches.
 */
export function mayOverlap(a: string, b: string): boolean {
  if (!a.includes('*')) return matchesPattern(b, a);
  if (!b.includes('*')) return matchesPattern(a, b);
  const prefixA = a.slice(0, a.indexOf('*'));
  const prefixB = b.slice(0, b.indexOf('*'));
  const suffixA = a.slice(a.lastIndexOf('*') + 1);
  const suffixB = b.slice(b.lastIndexOf('*') + 1);
  return (
    (prefixA.startsWith(prefixB) || prefixB.startsWith(prefixA)) &&
    (suffixA.endsWith(suffixB) || suffixB.endsWith(suffixA))
  );
}
