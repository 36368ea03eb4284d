/** Formats a field by RFC 4180. */
const formatCsvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Formats a line by RFC 4180. A single empty field is quoted: an empty line would be no record. */
export const formatCsvLine = (texts: readonly string[]): string =>
  `${texts.length === 1 && texts[0] === '' ? '""' : texts.map(formatCsvField).join()}\r\n`;
