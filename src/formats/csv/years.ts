const FIRST_YEAR = 1800;
const LAST_YEAR = 2199;

/** Returns true if all numbers among a line's cells are years. */
export const containsOnlyYears = (cells: readonly string[]): boolean =>
  cells.map((cell) => cell.trim()).every((cell) => !/^[+-]?\d/.test(cell) || isYear(cell));

const isYear = (cell: string): boolean =>
  /^\d{4}$/.test(cell) && Number(cell) >= FIRST_YEAR && Number(cell) <= LAST_YEAR;

/** Returns true if a line's cells are names in spite of numbers: rising years, beside a text or an empty cell. */
export function areYearNames(cells: readonly string[]): boolean {
  const years = cells.map((cell) => cell.trim()).map((cell) => (/^\d{4}$/.test(cell) ? Number(cell) : null));
  const foundYears = years.filter((year) => year !== null);
  const areAscending = foundYears.every(
    (year, index) => year > (foundYears[index - 1] ?? FIRST_YEAR - 1) && year <= LAST_YEAR,
  );
  const hasTextBeside = cells.some((cell) => cell.trim() === '' || /[^\d\s.,:/+-]/.test(cell));
  return foundYears.length > 1 && areAscending && hasTextBeside;
}
