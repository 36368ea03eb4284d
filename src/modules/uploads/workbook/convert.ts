import { MAX_RATIO, MAX_UNPACKED_BYTES } from '../archive/choose.ts';
import { ZipDamaged, type ZipEntry, ZipTooLarge } from '../archive/directory.ts';
import { unpack, type ZipSource } from '../archive/unpack.ts';
import { JobProblem } from '../problems.ts';
import { bytesIn, readSegments, type Segment, SegmentWriter } from '../segments.ts';
import { withHeaders } from './first-rows.ts';
import { type Merge, readMerges } from './merges.ts';
import { openWorkbook, type Workbook } from './parts.ts';
import * as problems from './problems.ts';
import { TextsTooLarge } from './shared-strings.ts';
import { BeginsFurtherLeft, beginSheet, convertRows, MAX_ROW_BYTES, type SheetState } from './sheet.ts';
import { XmlUnreadable } from './xml.ts';

/** Where the conversion of an Excel workbook stands: plain data. */
export interface ConversionState {
  /** The sheet that is being converted, by its place. */
  sheet: number;
  /** Its XML, unpacked; null before it is. */
  xml: Segment[] | null;
  rows: SheetState;
  /** How often the sheet's first column was found further left. */
  shifts: number;
  /** The text so far. */
  text: Segment[];
  /** The first sheet that has rows is converted. */
  done: boolean;
}

/** A sheet's first column is the leftmost value's; after so many surprises it is column A. */
const MAX_SHIFTS = 5;
const FURTHEST_RIGHT = 16_383;

export const beginConversion = (): ConversionState => ({ ...beginningOf(0), done: false });

const beginningOf = (sheet: number): Omit<ConversionState, 'done'> => ({
  sheet,
  xml: null,
  rows: beginSheet(FURTHEST_RIGHT),
  shifts: 0,
  text: [],
});

/** What a conversion needs of its surroundings. */
export interface Surroundings {
  bucket: R2Bucket;
  zip: ZipSource;
  /** Makes a key that nobody else has. */
  newKey(): string;
  /** XML that one call works through, about, and that is read at a time. */
  budget: number;
  block: number;
}

/**
 * Converts on: unpacks the next sheet, or turns about `budget` bytes of its XML into text, one line a row.
 * @param file the workbook's name and size
 * @throws JobProblem for what is no workbook, or too large a one
 */
export async function convertOn(
  around: Surroundings,
  file: { name: string; size: number },
  state: ConversionState,
): Promise<ConversionState> {
  try {
    const workbook = await openWorkbook(around.zip, file.size);
    const entry = workbook.sheets[state.sheet];
    if (!entry) throw new JobProblem(problems.empty(file.name));
    if (!state.xml) return { ...state, xml: await unpackSheet(around, file, entry) };
    const next = await convertSheet(around, workbook, state, state.xml);
    if (!next.rows.done) return next;
    return next.rows.filled > 0 ? { ...next, done: true } : { ...beginningOf(state.sheet + 1), done: false };
  } catch (error) {
    throw problemOf(error, file.name);
  }
}

async function unpackSheet(
  { bucket, zip, newKey }: Surroundings,
  file: { name: string; size: number },
  entry: ZipEntry,
): Promise<Segment[]> {
  // Honest sheets shrink to a tenth or, full of empty cells, to a fiftieth.
  if (entry.size > MAX_UNPACKED_BYTES || entry.size > Math.max(50 * 1024 * 1024, file.size * MAX_RATIO)) {
    throw new JobProblem(problems.tooLarge(file.name));
  }
  const writer = new SegmentWriter(bucket, newKey);
  await unpack(zip, entry, (bytes) => writer.write(bytes));
  await writer.flush();
  return writer.segments;
}

async function convertSheet(
  around: Surroundings,
  workbook: Workbook,
  state: ConversionState,
  xml: Segment[],
): Promise<ConversionState> {
  const { bucket, newKey, budget } = around;
  const size = bytesIn(xml);
  const merges = await mergesOf(bucket, xml, size);
  const writer = new SegmentWriter(bucket, newKey);
  let { rows } = state;
  const until = rows.offset + budget;
  try {
    while (!rows.done && rows.offset < until) {
      const { state: after, text } = await convertBlock(around, workbook, merges, rows, xml, size);
      await writer.write(rows.offset === 0 ? withHeaders(text, merges, rows.first) : text);
      rows = after;
    }
  } catch (error) {
    if (!(error instanceof BeginsFurtherLeft)) throw error;
    const first = state.shifts < MAX_SHIFTS ? error.column : 0;
    return { ...state, rows: beginSheet(first), shifts: state.shifts + 1, text: [] };
  }
  await writer.flush();
  return { ...state, rows, text: [...state.text, ...writer.segments] };
}

async function convertBlock(
  { bucket, block }: Surroundings,
  workbook: Workbook,
  merges: Merge[],
  rows: SheetState,
  xml: Segment[],
  size: number,
): Promise<{ state: SheetState; text: Uint8Array }> {
  for (let length = Math.max(block, FIRST_BLOCK_BYTES); ; length *= 2) {
    const bytes = await segmentBytes(bucket, xml, rows.offset, length);
    const converted = convertRows(workbook, merges, rows, bytes, rows.offset + bytes.length >= size);
    if (converted.state.offset > rows.offset || converted.state.done) return converted;
    if (length > MAX_ROW_BYTES) throw new XmlUnreadable('a row without end');
  }
}

/** Headers stand within the first block. */
const FIRST_BLOCK_BYTES = 256 * 1024;
/** What stands behind a sheet's rows is looked at so far for merged cells. */
const TAIL_BYTES = 4 * 1024 * 1024;

const mergesOf = async (bucket: R2Bucket, xml: Segment[], size: number): Promise<Merge[]> =>
  readMerges(await segmentBytes(bucket, xml, Math.max(0, size - TAIL_BYTES), TAIL_BYTES));

async function segmentBytes(bucket: R2Bucket, xml: Segment[], offset: number, length: number): Promise<Uint8Array> {
  const bytes = await readSegments(bucket, xml, offset, length);
  if (!bytes) throw new Error('an unpacked sheet is gone');
  return bytes;
}

function problemOf(error: unknown, file: string): unknown {
  if (error instanceof TextsTooLarge || error instanceof ZipTooLarge) return new JobProblem(problems.tooLarge(file));
  if (error instanceof ZipDamaged || error instanceof XmlUnreadable) return new JobProblem(problems.unreadable(file));
  return error;
}
