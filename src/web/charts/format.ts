import { type CellText, cellTextsIn, isNumeric } from '../../presentation/cell-texts.ts';
import type { ViewCell } from '../../presentation/viewing.ts';
import { LOCALE, TEXTS } from '../texts.ts';

export {
  type CellText,
  isNumeric,
  type NumberStyle,
  parseNumberStyle,
} from '../../presentation/cell-texts.ts';

/** The texts of cells in the page's language. */
export const { numberText, cellTextOf, periodTextOf, columnTextsOf } = cellTextsIn(LOCALE, TEXTS);

/** A cell as a number to draw; null if it is not a number. */
export const toNumber = (cell: ViewCell | undefined): number | null =>
  cell !== undefined && isNumeric(cell) ? Number(cell) : null;

/** A cell as the label of a point or a series. */
export const labelText = (text: CellText, cell: ViewCell): string => text(cell) || TEXTS.empty;
