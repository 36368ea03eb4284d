/** The facts that inference needs about the sheet that a text was made of. Plain data. */
export interface SheetFacts {
  /** Null where the format names no sheets. */
  name: string | null;
  /** The number of fields of its widest row. */
  width: number;
  /** The row, from 1, of a header that was joined from merged cells; null where inference has to find it. */
  header: number | null;
  /** The names of the workbook's sheets; absent where the format names none. */
  sheets?: string[];
}

/** The workbook has no sheet of the given name. */
export class SheetUnknown extends Error {}

/** The maximum number of names of sheets that are kept. */
const MAX_SHEET_NAMES = 200;
/** The maximum length of a sheet name that can be chosen; Excel itself allows 31 characters. */
export const MAX_SHEET_NAME = 255;

/** The names of a workbook's sheets as its facts keep them. */
export const toNames = (names: (string | null)[]): { sheets?: string[] } => {
  const isName = (name: string | null) => name !== null && name !== '' && name.length <= MAX_SHEET_NAME;
  const sheets = names.filter(isName).slice(0, MAX_SHEET_NAMES) as string[];
  return sheets.length > 0 ? { sheets } : {};
};

/** The rows of a sheet with values, and how many of them stand above the first with two values. */
export interface Counts {
  filled: number;
  narrow: number;
}

/** The sheets of a workbook so far that may be its table: plain data. */
export interface Choice<T> {
  /** The first sheet with values, and whether it is names alone: a header without rows. */
  first: { sheet: T; isNames: boolean } | null;
  /** The first sheet of one column with a header and a row. */
  list: T | null;
}

export const NO_CHOICE: Choice<never> = { first: null, list: null };

/** Whether a sheet has a header, a row and two columns: it is the workbook's table, whatever follows. */
export const isTable = ({ filled, narrow }: Counts): boolean => filled - narrow > 1;

/** Adds a sheet that is not a table by itself to the candidates. */
export function considerSheet<T>({ first, list }: Choice<T>, { filled, narrow }: Counts, sheet: T): Choice<T> {
  if (filled === 0) return { first, list };
  return {
    first: first ?? { sheet, isNames: filled - narrow === 1 },
    list: list ?? (filled === narrow && filled > 1 ? sheet : null),
  };
}

/** The sheet to be read where none is a table. Names alone before lists are a template that somebody has to fill in. */
export const getChosenSheet = <T>({ first, list }: Choice<T>): T | null =>
  (first?.isNames ? null : list) ?? first?.sheet ?? null;

/** The output to which the text of a sheet is written. */
export interface SheetOutput<T> {
  write(text: Uint8Array): Promise<void>;
  /** Ends the text, and tells where it is. */
  end(): Promise<T>;
}

/** The sheet that was chosen of a workbook: its text, and the facts about it. */
export interface Converted<T> {
  text: T;
  sheet: SheetFacts;
}
