const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether arrays and objects stand in one another more than `limit` deep in a JSON text. It is looked at before it is
 * parsed, since what works through nested values usually calls itself. Of a text that is no JSON the answer means nothing.
 */
export function isNestedDeeper(text: string, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    // `[` and `{`, `]` and `}` differ in this one bit.
    else if ((code | 0x20) === 0x7b) depth += 1;
    else if ((code | 0x20) === 0x7d) depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Where the string that begins at `start` ends: its closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}
