/**
 * What a workbook may cost, so that a few kilobytes made to harm take no more than a few kilobytes that were honestly
 * filled: everything that is worked through or written is counted, and bounded by the file's size times a constant.
 */

/** Excel has no more rows, and no more columns. */
export const MAX_ROWS = 1_048_576;
export const MAX_COLUMNS = 16_384;

/** Honest XML shrinks to a tenth or, full of empty cells, to a fiftieth; what is small may be what it likes. */
const MAX_RATIO = 200;
const FREE_XML_BYTES = 50 * 1024 * 1024;
const FREE_TEXT_BYTES = 16 * 1024 * 1024;
/** Of all workbooks of a job together, and of the XML of one. */
export const MAX_BYTES = 1024 * 1024 * 1024;
/** What looking into a sheet counts as, however small it is. */
export const SHEET_BYTES = 256 * 1024;

/** The workbook is larger than any honest one. */
export class WorkbookTooLarge extends Error {}

/** XML that may be unpacked of a workbook of `size` bytes. */
export const mostXml = (size: number): number => Math.min(MAX_BYTES, Math.max(FREE_XML_BYTES, size * MAX_RATIO));

/** Text that may be made of it. */
export const mostText = (size: number): number => Math.min(MAX_BYTES, FREE_TEXT_BYTES + size * MAX_RATIO);
