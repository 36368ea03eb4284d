import {
  beginInference,
  finishInference,
  type Inference,
  inferFromBlock,
  planLoad,
} from '../../../src/modules/uploads/inference/index.ts';
import { beginReading, continueParquet } from '../../../src/modules/uploads/parquet.ts';
import { beginRecords, continueRecords } from '../../../src/modules/uploads/records.ts';
import { readSegments, type Segment, sumSegmentBytes } from '../../../src/platform/segments.ts';
import { parseCopyText } from '../../formats/copy/parsing.ts';
import { createMemoryBucket } from '../workbook/converting.ts';
import { copyData, encodeFile, loadColumns } from './reading.ts';

/**
 * Writes the records of a Parquet or JSON file as a text. @returns the text, the facts about it, and its number of bytes after
 * each call
 */
export async function writeRecords(name: string, bytes: Uint8Array, bytesPerCall = Number.MAX_SAFE_INTEGER) {
  const bucket = createMemoryBucket();
  let keyCount = 0;
  const environment = {
    bucket,
    newKey: () => `key${++keyCount}`,
    read: async (offset: number, length: number) => bytes.slice(offset, offset + length),
    bytesPerCall,
    bytesPerRead: 1 << 20,
  };
  const file = { name, size: bytes.length };
  const lengths: number[] = [];
  const readText = async (text: Segment[]) =>
    (await readSegments(bucket, text, 0, Number.MAX_SAFE_INTEGER)) as Uint8Array;
  if (name.endsWith('.parquet')) {
    const { facts, reading } = await continueParquet(environment, file, beginReading());
    return { facts, text: await readText(reading.text), lengths };
  }
  for (let state = beginRecords(name.endsWith('.json') ? 'array' : 'lines'); ; ) {
    const step = await continueRecords(environment, file, state);
    state = JSON.parse(JSON.stringify(step.state));
    lengths.push(sumSegmentBytes(state.text));
    if (step.facts) return { facts: step.facts, text: await readText(state.text), lengths };
  }
}

/** Reads a Parquet or JSON file. @returns the types of its columns, and its rows with each value as it is sent to Postgres */
export async function readRecords(name: string, content: string | Uint8Array) {
  const { facts, text } = await writeRecords(name, typeof content === 'string' ? encodeFile(content) : content);
  let state = beginInference({ fileName: name, records: facts });
  while (!state.done) state = inferFromBlock(state, text.subarray(state.offset), true);
  const inference = finishInference([state]);
  const [file] = inference.files as [Inference['files'][number]];
  const plan = planLoad({ ...file, plain: false }, loadColumns(inference));
  const { columns } = inference.schema;
  return {
    types: Object.fromEntries(columns.map((column) => [column.name, column.type])),
    rows: parseCopyText(copyData(plan, text).text).map((values) =>
      Object.fromEntries(columns.map((column, index) => [column.name, values[index]])),
    ),
  };
}

/** Returns the error with which reading a Parquet or JSON file fails, as its job shows the error; null where it is read. */
export const readRecordsProblem = (name: string, content: string | Uint8Array): Promise<{ code: string } | null> =>
  readRecords(name, content).then(
    () => null,
    (error) => error.error ?? { code: error.code, ...error.location },
  );
