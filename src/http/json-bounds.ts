const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** The limits of a JSON text, apart from its length. */
export interface JsonBounds {
  /** The deepest nesting of arrays and objects: code that works through nested values is usually recursive. */
  depth: number;
  /** Commas and opening brackets: behind each begins a value, and even an empty one takes memory. */
  signs: number;
  /** Names of members that differ. An object of many is a dictionary, which costs ten times what its text does. */
  names: number;
}

/** The limit that a JSON text exceeds, null for none, found before it is parsed. Means nothing for other texts. */
export function findExcess(
  text: string,
  { depth: deepest, signs: most, names: mostNames }: JsonBounds,
): keyof JsonBounds | null {
  let depth = 0;
  let signs = 0;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findStringEnd(text, at);
    else if (code === COMMA) signs += 1;
    else if (code === COLON) members += 1;
    // `[` and `{`, `]` and `}` differ in this one bit.
    else if ((code | 0x20) === 0x7b) {
      depth += 1;
      signs += 1;
    } else if ((code | 0x20) === 0x7d) depth -= 1;
    if (depth > deepest) return 'depth';
    if (signs > most) return 'signs';
  }
  return members > mostNames && hasMoreNames(text, mostNames) ? 'names' : null;
}

/** Whether more names differ, as they are written. */
function hasMoreNames(text: string, most: number): boolean {
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
      if (names.size > most) return true;
    }
  }
  return false;
}

/** The position at which the string that begins at `start` ends: its closing quote, or the end of the text. */
function findStringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
