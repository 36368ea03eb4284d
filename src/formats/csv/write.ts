/** A field of RFC 4180. */
const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** A line of RFC 4180. One empty field alone is quoted: an empty line would be none. */
export const csvLine = (texts: readonly string[]): string =>
  `${texts.length === 1 && texts[0] === '' ? '""' : texts.map(csvField).join()}\r\n`;
