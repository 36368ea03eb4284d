import type { ReadRange } from '../zip/directory.ts';

/** Facts that inference needs about the sheet from which a text was made. Plain data. */
export interface SheetFacts {
  /** Name of the sheet; null if the format names no sheets. */
  name: string | null;
  /** Number of fields of the sheet's widest row. */
  width: number;
  /** Row, from 1, of a header that was joined from merged cells; null if inference has to find it. */
  header: number | null;
  /** Names of the workbook's sheets; absent if the format names none. */
  sheets?: string[];
}

/** Error thrown when the workbook has no sheet of the given name. */
export class SheetUnknown extends Error {}

/** Maximum number of sheet names that are stored. */
const MAX_SHEET_NAMES = 200;
/** Maximum length of a sheet name that can be chosen; Excel itself allows 31 characters. */
export const MAX_SHEET_NAME_LENGTH = 255;

/** Makes the list of a workbook's sheet names for its facts. */
export const toSheetNames = (names: (string | null)[]): { sheets?: string[] } => {
  const isName = (name: string | null) => name !== null && name !== '' && name.length <= MAX_SHEET_NAME_LENGTH;
  const sheets = names.filter(isName).slice(0, MAX_SHEET_NAMES) as string[];
  return sheets.length > 0 ? { sheets } : {};
};

/** Numbers of a sheet's rows with values, and of those above the first row with two values. */
export interface RowCounts {
  filledRowCount: number;
  narrowRowCount: number;
}

/** Candidates among a workbook's sheets so far for its table. Plain data. */
export interface SheetChoice<T> {
  /** First sheet with values, and whether it has names only: a header without rows. */
  first: { sheet: T; isNames: boolean } | null;
  /** First sheet of one column with a header and a row. */
  list: T | null;
}

export const NO_CHOICE: SheetChoice<never> = { first: null, list: null };

/** Returns true if a sheet has a header, a row and two columns: it is the workbook's table, whatever sheets follow. */
export const isTable = ({ filledRowCount: filled, narrowRowCount: narrow }: RowCounts): boolean => filled - narrow > 1;

/** Adds a sheet that is not a table by itself to the candidates. */
export function considerSheet<T>(
  { first, list }: SheetChoice<T>,
  { filledRowCount: filled, narrowRowCount: narrow }: RowCounts,
  sheet: T,
): SheetChoice<T> {
  if (filled === 0) return { first, list };
  return {
    first: first ?? { sheet, isNames: filled - narrow === 1 },
    list: list ?? (filled === narrow && filled > 1 ? sheet : null),
  };
}

/** Returns the sheet to read if none is a table. A sheet of names before lists is a template that somebody has to fill in. */
export const getChosenSheet = <T>({ first, list }: SheetChoice<T>): T | null =>
  (first?.isNames ? null : list) ?? first?.sheet ?? null;

/** File with sheets, and the output for their texts. */
export interface SheetSource<T> {
  size: number;
  read: ReadRange;
  /** Begins the text of a sheet. */
  beginText(): SheetOutput<T>;
}

/** Output to which the text of a sheet is written. */
export interface SheetOutput<T> {
  write(text: Uint8Array): Promise<void>;
  /** Ends the text. @returns where the text is */
  end(): Promise<T>;
}

/** Chosen sheet of a workbook: its text, and the facts about it. */
export interface ConvertedSheet<T> {
  text: T;
  sheet: SheetFacts;
}
