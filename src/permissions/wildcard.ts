/** A compiled pattern: whether the whole of `text` fits it. */
export type Matcher = (text: string) => boolean;

/** Patterns kept compiled. Enough for the policies of many companies at once, and at 512 characters each a few MB. */
const CACHE_SIZE = 2048;
const cache = new Map<string, Matcher>();

/**
 * Compiles a pattern in which `*` stands for any run of characters, the empty run and a literal `*` included.
 * Everything else stands for itself; case counts. Matching looks for each literal part once, from left to right, and never
 * goes back: with only this one wildcard the leftmost place of a part is always as good as any later one.
 */
export function compile(pattern: string): Matcher {
  const known = cache.get(pattern);
  if (known) return known;
  const matcher = build(pattern);
  if (cache.size >= CACHE_SIZE) cache.delete(cache.keys().next().value as string);
  cache.set(pattern, matcher);
  return matcher;
}

/** Whether the whole of `text` fits `pattern`. */
export const matches = (pattern: string, text: string): boolean => compile(pattern)(text);

/** Whether a pattern fits every text. */
export const matchesEverything = (pattern: string): boolean => /^\*+$/.test(pattern);

function build(pattern: string): Matcher {
  const parts = pattern.split('*');
  if (parts.length === 1) return (text) => text === pattern;

  const head = parts[0] as string;
  const tail = parts.at(-1) as string;
  const middle = parts.slice(1, -1).filter((part) => part !== '');
  const shortest = parts.reduce((sum, part) => sum + part.length, 0);
  if (shortest === 0) return () => true;
  if (middle.length === 0 && tail === '') return (text) => text.startsWith(head);

  return (text) => {
    if (text.length < shortest || !text.startsWith(head) || !text.endsWith(tail)) return false;
    const end = text.length - tail.length;
    let at = head.length;
    for (const part of middle) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= end;
  };
}

/** Whether some text may fit both patterns, by their literal ends alone: it may say yes where the answer is no. */
export function mayOverlap(a: string, b: string): boolean {
  if (!a.includes('*')) return matches(b, a);
  if (!b.includes('*')) return matches(a, b);
  const headA = a.slice(0, a.indexOf('*'));
  const headB = b.slice(0, b.indexOf('*'));
  const tailA = a.slice(a.lastIndexOf('*') + 1);
  const tailB = b.slice(b.lastIndexOf('*') + 1);
  return (headA.startsWith(headB) || headB.startsWith(headA)) && (tailA.endsWith(tailB) || tailB.endsWith(tailA));
}
