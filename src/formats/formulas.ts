/** Pattern of the beginnings of a text that spreadsheets take for a formula. */
const FORMULA_PATTERN = /^[=+\-@\t\r]/;

/** Makes a text that no spreadsheet takes for a formula. */
export const escapeFormula = (text: string): string => (FORMULA_PATTERN.test(text) ? `'${text}` : text);
