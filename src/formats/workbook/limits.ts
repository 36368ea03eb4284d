/** Bounds a workbook's cost: whatever is processed or written is at most a constant times the file's size. */

/** Maximum number of rows of Excel itself. */
export const MAX_ROWS = 1_048_576;
/** Maximum number of columns of Excel itself. */
export const MAX_COLUMNS = 16_384;

/** Maximum ratio of unpacked to packed size: ordinary XML shrinks to a tenth, or to a fiftieth if most cells are empty. */
const MAX_RATIO = 200;
const MIN_XML_LIMIT_BYTES = 50 * 1024 * 1024;
const BASE_TEXT_BYTES = 16 * 1024 * 1024;
/** Maximum size of the text of all workbooks of a job together, and of the XML of one workbook. */
export const MAX_BYTES = 1024 * 1024 * 1024;
/** Minimum number of bytes that reading a sheet counts as. */
export const MIN_SHEET_BYTES = 256 * 1024;

/** Error thrown when the workbook is larger than the limits. */
export class WorkbookTooLarge extends Error {}

/** Computes the maximum amount of XML that a workbook of `size` bytes may unpack to. */
export const computeMaxXmlBytes = (size: number): number =>
  Math.min(MAX_BYTES, Math.max(MIN_XML_LIMIT_BYTES, size * MAX_RATIO));

/** Computes the maximum amount of text that a workbook of `size` bytes may be converted to. */
export const computeMaxTextBytes = (size: number): number => Math.min(MAX_BYTES, BASE_TEXT_BYTES + size * MAX_RATIO);
