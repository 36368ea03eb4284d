const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Limits of a JSON text, apart from its length. */
export interface JsonBounds {
  /** Maximum nesting of arrays and objects: code that works through nested values is usually recursive. */
  depth: number;
  /** Maximum number of commas and opening brackets: each may precede a value, and even an empty value takes memory. */
  maxSigns: number;
  /** Maximum number of different member names. An object of many names costs ten times what its text does. */
  maxNames: number;
}

/** Finds the limit that a JSON text exceeds, before it is parsed; null for none. Meaningless for other texts. */
export function findExceededBound(
  text: string,
  { depth: deepest, maxSigns, maxNames }: JsonBounds,
): keyof JsonBounds | null {
  let depth = 0;
  let signCount = 0;
  let memberCount = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at);
    else if (code === COMMA) signCount += 1;
    else if (code === COLON) memberCount += 1;
    // `[` and `{`, `]` and `}` differ in this one bit.
    else if ((code | 0x20) === 0x7b) {
      depth += 1;
      signCount += 1;
    } else if ((code | 0x20) === 0x7d) depth -= 1;
    if (depth > deepest) return 'depth';
    if (signCount > maxSigns) return 'maxSigns';
  }
  return memberCount > maxNames && hasMoreNames(text, maxNames) ? 'maxNames' : null;
}

/** Returns true if the text has more different member names than the limit, compared as they are written. */
function hasMoreNames(text: string, maxNames: number): boolean {
  const names = new Set<string>();
  let start = 0;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      start = at;
      end = findStringEnd(text, at);
      at = end;
    } else if (code === COLON) {
      names.add(text.slice(start, end));
      if (names.size > maxNames) return true;
    }
  }
  return false;
}

/** Finds the position at which the string that begins at `start` ends: its closing quote, or the end of the text. */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
