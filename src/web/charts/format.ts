import { createCellFormatters, type FormatCell, isNumeric } from '../../presentation/cell-texts.ts';
import type { ViewCell } from '../../presentation/viewing.ts';
import { LOCALE, TEXTS } from '../texts.ts';

export {
  type FormatCell,
  isNumeric,
  type NumberStyle,
  parseNumberStyle,
} from '../../presentation/cell-texts.ts';

/** The functions that format cells in the page's language. */
export const { formatNumber, makeCellFormat, makePeriodFormat, makeColumnFormats } = createCellFormatters(
  LOCALE,
  TEXTS,
);

/** Converts a cell to a number to draw; null if it is not a number. */
export const toNumber = (cell: ViewCell | undefined): number | null =>
  cell !== undefined && isNumeric(cell) ? Number(cell) : null;

/** Formats a cell as the label of a point or a series. */
export const formatLabel = (formatCell: FormatCell, cell: ViewCell): string => formatCell(cell) || TEXTS.empty;
