import { JsonProblem } from '../../formats/json/problem.ts';
import { beginJson, type JsonForm, type JsonState, MAX_OBJECT_BYTES, readJson } from '../../formats/json/read.ts';
import type { RecordFacts } from '../../formats/records/record-facts.ts';
import { RecordWriter } from '../../formats/records/writer.ts';
import { type Encoding, measureEncodedLength, toScannableBytes } from '../../formats/text/decode.ts';
import { guessEncoding, takeReadableBytes } from '../../formats/text/detect.ts';
import { type Segment, SegmentWriter } from '../../platform/segments.ts';
import { MAX_COLUMNS } from '../../tenant-sql/columns.ts';
import * as problems from './problems.ts';

/** The progress of writing the records of a file as a text. Plain data. */
export interface RecordsState {
  form: JsonForm;
  /** The number of bytes of the file that have been read. */
  offset: number;
  /** The encoding; null before the first byte is read. */
  encoding: Encoding | null;
  json: JsonState;
  /** The pieces of the text written so far. */
  text: Segment[];
}

export const beginRecords = (jsonForm: JsonForm): RecordsState => ({
  form: jsonForm,
  offset: 0,
  encoding: null,
  json: beginJson(),
  text: [],
});

/** The file of records and the storage for its text. */
export interface RecordsEnvironment {
  bucket: R2Bucket;
  newKey(): string;
  /** Reads `length` bytes from an offset on; fewer where the file ends. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** The approximate number of bytes of the file that one call reads, and of the text that it writes. */
  bytesPerCall: number;
  /** The number of bytes that are read at a time. */
  bytesPerRead: number;
}

/** The state after one call, and the facts about the text once it is complete. */
export interface RecordsStep {
  state: RecordsState;
  facts: RecordFacts | null;
}

/** The maximum number of bytes that are read at a time: a whole object must fit, with the bytes before it. */
const MAX_READ_BYTES = MAX_OBJECT_BYTES + 64 * 1024;

/** Continues writing a file's objects as a text, about `bytesPerCall` bytes of either. @throws JobProblem for an invalid file */
export async function continueRecords(
  { bucket, newKey, read, bytesPerCall, bytesPerRead }: RecordsEnvironment,
  { name, size }: { name: string; size: number },
  from: RecordsState,
): Promise<RecordsStep> {
  const output = new SegmentWriter(bucket, newKey);
  const writer = new RecordWriter();
  let { offset, encoding, json } = from;
  let wantedBytes = bytesPerRead;
  let writtenBytes = 0;
  try {
    do {
      const bytes = await read(offset, wantedBytes);
      const isLast = offset + bytes.length >= size;
      let markLength = 0;
      if (encoding === null) {
        const guess = guessEncoding(bytes);
        encoding = guess.encoding;
        markLength = guess.markLength;
      }
      const scannableBytes = toScannableBytes(bytes.subarray(markLength), encoding, isLast);
      // What stands before bytes that are no text is read for the line of the error.
      const text = scannableBytes ?? takeReadableBytes(bytes.subarray(markLength), encoding);
      let takenBytes = 0;
      let isFull: boolean;
      do {
        const isEnd = isLast && scannableBytes !== null;
        const result = readJson(from.form, json, text.subarray(takenBytes), isEnd, MAX_COLUMNS, writer);
        ({ state: json, isFull } = result);
        takenBytes += result.takenBytes;
        writtenBytes += writer.endedBytes;
        await output.write(writer.takeLines());
      } while (isFull && writtenBytes < bytesPerCall);
      if (scannableBytes === null && !isFull) throw new JsonProblem('not_utf8', json.line);
      offset += markLength + measureEncodedLength(text, takenBytes, encoding);
      if (isLast && !isFull) {
        await output.flush();
        const finalState = { ...from, offset: size, encoding, json, text: [...from.text, ...output.segments] };
        return { state: finalState, facts: toRecordFacts(name, finalState, encoding) };
      }
      if (takenBytes === 0 && wantedBytes >= MAX_READ_BYTES) throw new JsonProblem('too_long', json.line);
      wantedBytes = takenBytes > 0 ? bytesPerRead : Math.min(wantedBytes * 2, MAX_READ_BYTES);
    } while (offset < from.offset + bytesPerCall && writtenBytes < bytesPerCall);
  } catch (error) {
    throw error instanceof JsonProblem ? problems.toJsonProblem(name, from.form, error) : error;
  }
  await output.flush();
  return { state: { ...from, offset, encoding, json, text: [...from.text, ...output.segments] }, facts: null };
}

function toRecordFacts(file: string, { json }: RecordsState, encoding: Encoding): RecordFacts {
  const { names } = json;
  if (json.objects === 0) throw problems.fileWithoutRecords(file);
  if (names.length === 0) throw problems.fileWithoutColumns(file);
  return { names, encoding };
}
