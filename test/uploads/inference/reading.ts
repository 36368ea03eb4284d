import {
  beginInference,
  convertNextChunk,
  finishInference,
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

/** Text as the bytes of a file. */
export const encodeFile = (text: string): Uint8Array => encoder.encode(text);

/** Reads a file in blocks of at most `block` bytes, its state going through JSON between them as it does in a queue. */
export function readFile(bytes: Uint8Array, fileName = 'arquivo.csv', block = 1 << 20): InferenceState {
  let state = beginInference({ fileName });
  while (!state.done) {
    const end = state.offset + Math.max(block, state.wants);
    state = inferFromBlock(JSON.parse(JSON.stringify(state)), bytes.subarray(state.offset, end), end >= bytes.length);
  }
  return JSON.parse(JSON.stringify(state));
}

export const inferBytes = (bytes: Uint8Array, block?: number): Inference =>
  finishInference([readFile(bytes, undefined, block)]);
export const inferText = (text: string, block?: number): Inference => inferBytes(encodeFile(text), block);

/** Each column as `name:type`, the shortest way to say what a file became. */
export const formatColumns = ({ schema }: Inference): string =>
  schema.columns.map((column) => `${column.name}:${column.type}`).join(' ');

/** The only column of a file with one, under a header that says nothing. */
export function inferColumn(values: string[], header = 'campo'): InferredColumn {
  const quoted = values.map((value) => `"${value.replaceAll('"', '""')}"`);
  return inferText(`chave,${header}\n${quoted.map((value, index) => `k${index}x,${value}`).join('\n')}\n`).schema
    .columns[1] as InferredColumn;
}

/** The code and place of the error that reading a file ends in. */
export function readRefusal(work: () => unknown) {
  try {
    work();
  } catch (error) {
    const { code, where, message } = error as { code: string; where: object; message: string };
    return { code, message, ...where };
  }
  return null;
}

/** The inferred columns to load, with other types where given by name. */
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

/** What COPY would be given for a whole file, in blocks; `convert` rewrites also what could go as it is. */
export function copyData(plan: LoadPlan, bytes: Uint8Array, block = 1 << 16): { text: string; rows: number } {
  const pieces: Uint8Array[] = [];
  let rows = 0;
  let wants = 1;
  for (let position = plan.start; position.offset < plan.end; ) {
    const end = position.offset + Math.max(block, wants);
    const chunk = convertNextChunk(plan, position, bytes.subarray(position.offset, end), end >= bytes.length);
    pieces.push(chunk.data.slice());
    rows += chunk.rows ?? 0;
    position = chunk.position;
    wants = chunk.wants;
  }
  return {
    text: pieces.map((piece) => new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(piece)).join(''),
    rows,
  };
}

/** Every row of a file as it is loaded when all columns are text. */
export function readRows(bytes: Uint8Array, block?: number): (string | null)[][] {
  const inference = inferBytes(bytes, block);
  const texts = Object.fromEntries(inference.schema.columns.map(({ name }) => [name, 'text' as const]));
  const [file] = inference.files as [Inference['files'][number]];
  // Not plain, so that the values are converted and can be compared one by one.
  const plan = planLoad({ ...file, plain: false }, loadColumns(inference, texts));
  return parseCopyText(copyData(plan, bytes, block).text);
}

/** Each row as one text, which is shorter to write: its values, with ∅ for null, and | between them. */
export const rowLines = (rows: (string | null)[][]): string[] =>
  rows.map((row) => row.map((value) => value ?? '∅').join('|'));
