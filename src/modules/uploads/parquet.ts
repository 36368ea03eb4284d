import { type Footer, readFooter } from '../../formats/parquet/footer.ts';
import { ParquetProblem } from '../../formats/parquet/problem.ts';
import { beginParquet, listTypes, type ParquetState, readParquet } from '../../formats/parquet/read.ts';
import type { RecordFacts } from '../../formats/records/record-facts.ts';
import { RecordTooLong, RecordWriter } from '../../formats/records/writer.ts';
import { type Segment, SegmentWriter } from '../../platform/segments.ts';
import { MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import * as problems from './problems.ts';

/** The progress of writing the rows of a Parquet file as a text. Plain data. */
export interface ParquetReading {
  state: ParquetState;
  /** The pieces of the text written so far. */
  text: Segment[];
  /** The number of bytes of the text written so far. */
  written: number;
}

export const beginReading = (): ParquetReading => ({ state: beginParquet(), text: [], written: 0 });

/** The Parquet file and the storage for its text. */
export interface ParquetEnvironment {
  bucket: R2Bucket;
  newKey(): string;
  /** Reads `length` bytes from an offset on; fewer where the file ends. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** The approximate number of bytes of text that one call writes. */
  bytesPerCall: number;
}

/** The approximate maximum of memory that reading a file takes: pages, their texts, and bytes read ahead. */
export const MAX_PARQUET_MEMORY_BYTES = 64 * 1024 * 1024;
/** The number of bytes of text that are passed to the storage at a time. */
const TEXT_WRITE_BYTES = 1024 * 1024;

/**
 * Continues writing the rows of a file as a text, about `bytesPerCall` bytes of it. @returns the progress afterwards, and the facts
 * about the text once it is complete @throws JobProblem for a file that is not valid
 */
export async function continueParquet(
  { bucket, newKey, read, bytesPerCall }: ParquetEnvironment,
  { name, size }: { name: string; size: number },
  from: ParquetReading,
): Promise<{ reading: ParquetReading; facts: RecordFacts | null }> {
  const output = new SegmentWriter(bucket, newKey);
  const writer = new RecordWriter();
  let ownBytes = 0;
  const writeText = async () => {
    ownBytes += writer.endedBytes;
    await output.write(writer.takeLines());
  };
  const isFull = async () => {
    if (writer.endedBytes > TEXT_WRITE_BYTES || ownBytes + writer.endedBytes > bytesPerCall) await writeText();
    return ownBytes > bytesPerCall;
  };
  try {
    const footer = await readFooter(read, size, MAX_COLUMNS);
    const { state, isDone } = await readParquet(read, footer, from.state, writer, isFull);
    await writeText();
    await output.flush();
    const reading = { state, text: [...from.text, ...output.segments], written: from.written + ownBytes };
    return { reading, facts: isDone ? toRecordFacts(name, footer, state) : null };
  } catch (error) {
    if (error instanceof RecordTooLong) throw problems.toParquetProblem(name, new ParquetProblem('row_too_long'));
    throw error instanceof ParquetProblem ? problems.toParquetProblem(name, error) : error;
  }
}

function toRecordFacts(file: string, footer: Footer, { notNumbers }: ParquetState): RecordFacts {
  if (footer.rowCount === 0) throw problems.fileWithoutRecords(file);
  const names = footer.columns.map(({ name }) => name.slice(0, MAX_NAME_LENGTH));
  return { names, types: listTypes(footer), notNumbers, encoding: 'utf-8' };
}

/** The maximum number of characters of a column's name. */
const MAX_NAME_LENGTH = 1000;
