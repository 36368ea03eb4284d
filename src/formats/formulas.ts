/** The beginnings of a text that a spreadsheet takes for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** A text that no spreadsheet takes for a formula. */
export const withoutFormula = (text: string): string => (FORMULA.test(text) ? `'${text}` : text);
