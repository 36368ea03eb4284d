import {
  beginInference,
  convertNextChunk,
  finishInference,
  type GivenOptions,
  type Inference,
  type InferenceState,
  type InferredColumn,
  inferFromBlock,
  type LoadColumn,
  type LoadPlan,
  planLoad,
} from '../../../src/modules/uploads/inference/index.ts';

import { parseCopyText } from '../../formats/copy/parsing.ts';

const encoder = new TextEncoder();

/** Encodes text as the bytes of a file. */
export const encodeFile = (text: string): Uint8Array => encoder.encode(text);

/** Reads a file in blocks of at most `blockSize` bytes; its state is passed through JSON between them, as in a queue. */
export function readFile(
  bytes: Uint8Array,
  fileName = 'arquivo.csv',
  blockSize = 1 << 20,
  said: GivenOptions = {},
): InferenceState {
  let state = beginInference({ fileName, said });
  while (!state.done) {
    const end = state.offset + Math.max(blockSize, state.wants);
    state = inferFromBlock(JSON.parse(JSON.stringify(state)), bytes.subarray(state.offset, end), end >= bytes.length);
  }
  return JSON.parse(JSON.stringify(state));
}

export const inferBytes = (bytes: Uint8Array, blockSize?: number, said?: GivenOptions): Inference =>
  finishInference([readFile(bytes, undefined, blockSize, said)]);
export const inferText = (text: string, blockSize?: number): Inference => inferBytes(encodeFile(text), blockSize);

/** Formats each inferred column as `name:type`, for short expectations. */
export const formatColumns = ({ schema }: Inference): string =>
  schema.columns.map((column) => `${column.name}:${column.type}`).join(' ');

/** Infers the only column of a file, under a header that implies no type. */
export function inferColumn(values: string[], header = 'campo'): InferredColumn {
  const quotedValues = values.map((value) => `"${value.replaceAll('"', '""')}"`);
  return inferText(`chave,${header}\n${quotedValues.map((value, index) => `k${index}x,${value}`).join('\n')}\n`).schema
    .columns[1] as InferredColumn;
}

/** Returns the code and position of the error with which reading a file fails. */
export function readRefusal(work: () => unknown) {
  try {
    work();
  } catch (error) {
    const { code, location, message } = error as { code: string; location: object; message: string };
    return { code, message, ...location };
  }
  return null;
}

/** Returns the inferred columns to load, with other types where `types` names them. */
export function loadColumns({ schema }: Inference, types: Record<string, LoadColumn['type']> = {}): LoadColumn[] {
  return schema.columns.map((column, source) => ({
    name: column.name,
    type: types[column.name] ?? column.type,
    nullable: column.nullable,
    source,
    inferredType: column.type,
    hasNulls: column.evidence.nulls > 0,
  }));
}

/** Returns the text that COPY would get for a whole file, in blocks. @param onChunk called with each chunk of it */
export function copyData(
  plan: LoadPlan,
  bytes: Uint8Array,
  blockSize = 1 << 16,
  onChunk: (chunk: ReturnType<typeof convertNextChunk>) => void = () => {},
): { text: string; rowCount: number } {
  const pieces: Uint8Array[] = [];
  let rowCount = 0;
  let wantedBytes = 1;
  for (let position = plan.start; position.offset < plan.end; ) {
    const end = position.offset + Math.max(blockSize, wantedBytes);
    const chunk = convertNextChunk(plan, position, bytes.subarray(position.offset, end), end >= bytes.length);
    onChunk(chunk);
    pieces.push(chunk.copyInput.slice());
    rowCount += chunk.rowCount ?? 0;
    position = chunk.nextPosition;
    wantedBytes = chunk.minBlockBytes;
  }
  return {
    text: pieces.map((piece) => new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(piece)).join(''),
    rowCount,
  };
}

/** Reads every row of a file as it is loaded when all columns are text. */
export function readRows(bytes: Uint8Array, blockSize?: number, said?: GivenOptions): (string | null)[][] {
  const inference = inferBytes(bytes, blockSize, said);
  const texts = Object.fromEntries(inference.schema.columns.map(({ name }) => [name, 'text' as const]));
  const [file] = inference.files as [Inference['files'][number]];
  // Not plain, so that the values are converted and can be compared one by one.
  const plan = planLoad({ ...file, plain: false }, loadColumns(inference, texts));
  return parseCopyText(copyData(plan, bytes, blockSize).text);
}

/** Formats each row as one text for short expectations: its values, with ∅ for null, and | between them. */
export const formatRows = (rows: (string | null)[][]): string[] =>
  rows.map((row) => row.map((value) => value ?? '∅').join('|'));
