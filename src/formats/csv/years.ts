const FIRST_YEAR = 1800;
const LAST_YEAR = 2199;

/** Whether the numbers among a line's cells all are years. */
export const hasYearsAlone = (cells: readonly string[]): boolean =>
  cells.map((cell) => cell.trim()).every((cell) => !/^[+-]?\d/.test(cell) || isYear(cell));

const isYear = (cell: string): boolean =>
  /^\d{4}$/.test(cell) && Number(cell) >= FIRST_YEAR && Number(cell) <= LAST_YEAR;

/** Whether a line's cells are names although there are numbers: years that rise, beside a text or an empty cell. */
export function nameYears(cells: readonly string[]): boolean {
  const years = cells.map((cell) => cell.trim()).map((cell) => (/^\d{4}$/.test(cell) ? Number(cell) : null));
  const found = years.filter((year) => year !== null);
  const rise = found.every((year, index) => year > (found[index - 1] ?? FIRST_YEAR - 1) && year <= LAST_YEAR);
  const besides = cells.some((cell) => cell.trim() === '' || /[^\d\s.,:/+-]/.test(cell));
  return found.length > 1 && rise && besides;
}
