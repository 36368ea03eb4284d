import type { CompanyContext } from '../../context.ts';
import type { PostgresError } from '../../tenant-sql/client.ts';
import { quoteIdentifier, quoteLiteral } from '../../tenant-sql/identifiers.ts';
import { getBlockBytes, readBlock } from './blocks.ts';
import {
  convertNextChunk,
  cutValue,
  type LoadPlan,
  type Position,
  planLoad,
  type ZoneEdges,
} from './inference/index.ts';
import type { ConfirmedColumn, ConfirmedSchema, Reading, WorkedJob } from './job.ts';
import { JobProblem, rowRefused } from './problems.ts';
import { ROW_ID_COLUMN } from './upsert-sql.ts';

/** The progress of a load; stored with its job. */
export interface LoadState {
  /** The id of the table to create, which also names its staging table. */
  table_id: string;
  /** The index of the file that is being loaded; the number of files when all are loaded. */
  file: number;
  /** The position in the current file where the next row starts; null before the first row. */
  position: Position | null;
  /** The number of rows loaded so far, of all files. */
  rows: number;
  /** For an upsert: the position where each loaded chunk starts, and the number of rows before it. */
  starts?: { file: number; position: Position | null; rows: number }[];
}

/** Whole rows of a file, in the form that COPY takes. */
export interface Chunk {
  plan: LoadPlan;
  /** The position in the file where the rows start. */
  startPosition: Position;
  /** The bytes of the file from `startPosition` on. */
  fileBytes: Uint8Array;
  /** Whether `fileBytes` reach the end of the file. */
  isLast: boolean;
  /** The number of bytes that the rows take, in the file or as input of COPY. */
  processedBytes: number;
  /** The bytes to COPY. */
  copyInput: Uint8Array;
  rowCount: number;
  /** The state of the load after this chunk. */
  nextState: LoadState;
}

/** Returns how the files of a job are read. @throws Error if the job is not analysed yet */
export function requireReading({ reading }: WorkedJob<unknown>): Reading {
  if (!reading) throw new Error('the job is not analysed');
  return reading;
}

export function requireConfirmed({ confirmedSchema }: WorkedJob<unknown>): ConfirmedSchema {
  if (!confirmedSchema) throw new Error('the job is not confirmed');
  return confirmedSchema;
}

type LoadedColumn = ConfirmedColumn & { source_index: number };

/** Lists the confirmed columns that the files fill, and the column of row ids where an upsert finds rows by them. */
export function listLoadedColumns(job: WorkedJob<unknown>): LoadedColumn[] {
  const columns = requireConfirmed(job).columns.flatMap((column): LoadedColumn[] =>
    column.source_index === null ? [] : [{ ...column, source_index: column.source_index }],
  );
  const ids = job.reading?.ids;
  if (ids === undefined) return columns;
  return [{ name: ROW_ID_COLUMN, display_name: 'id', type: 'text', nullable: false, source_index: ids }, ...columns];
}

/** Plans how each file of a confirmed job is loaded. @param zone the edges of the confirmed time zone, where they matter */
export function planFiles(job: WorkedJob<LoadState>, zone: ZoneEdges | null): LoadPlan[] {
  const { found, files } = requireReading(job);
  const columns = listLoadedColumns(job).map(({ name, type, nullable, source_index: source }) => {
    const inferredColumn = found[source];
    if (!inferredColumn) throw new Error('a confirmed column is not in the files');
    const mayBeNull = nullable && !job.key?.includes(name);
    const { type: inferredType, nullable: hasNulls } = inferredColumn;
    return { name, type, nullable: mayBeNull, source, inferredType, hasNulls };
  });
  return files.map((file) => planLoad(file, columns, zone));
}

/** Reads the next chunk; null when all files are loaded. */
export async function readChunk(
  { files, config }: Pick<CompanyContext, 'files' | 'config'>,
  job: WorkedJob<LoadState>,
  plans: LoadPlan[],
  state: LoadState,
): Promise<Chunk | null> {
  let { file, position } = state;
  let plan = plans[file];
  while (plan && (position ?? plan.start).offset >= plan.end) {
    file += 1;
    position = null;
    plan = plans[file];
  }
  const source = requireReading(job).sources[file];
  if (!plan || !source) return null;
  const from = position ?? plan.start;
  for (let size = getBlockBytes(config); ; ) {
    const length = Math.min(size, plan.end - from.offset);
    const { bytes: block, isLast } = await readBlock(files, source, from.offset, length);
    const chunk = convertNextChunk(plan, from, block, isLast);
    if (chunk.nextPosition.offset > from.offset) {
      const { copyInput, rowCount, nextPosition } = chunk;
      const starts = state.starts && [...state.starts, { file, position: from, rows: state.rows }];
      const progress = { file, position: nextPosition, rows: state.rows + rowCount, ...(starts && { starts }) };
      const processedBytes = Math.max(nextPosition.offset - from.offset, copyInput.length);
      const rows = { copyInput, rowCount, nextState: { table_id: state.table_id, ...progress } };
      return { plan, startPosition: from, fileBytes: block, isLast, processedBytes, ...rows };
    }
    if (chunk.minBlockBytes <= size) throw new Error('a block holds no whole row, and no larger one is wanted');
    size = chunk.minBlockBytes;
  }
}

/** Makes the statements that COPY a chunk, with the settings under which Postgres reads dates as inference did. */
export function buildCopyStatements(table: string, { plan }: Chunk, timeZone: string | null): string[] {
  return [
    `SET LOCAL DateStyle = ${quoteLiteral(plan.dateStyle)}`,
    `SET LOCAL TimeZone = ${quoteLiteral(timeZone ?? 'UTC')}`,
    `COPY ${table} (${plan.copyColumns.map(quoteIdentifier).join(', ')}) FROM STDIN WITH (${plan.copyOptions})`,
  ];
}

/**
 * Validates a chunk that Postgres rejected by our own, stricter conversion. @throws InferenceError `VALUE_DOES_NOT_FIT` naming
 * the first value that does not fit; returns if there is none
 */
export function requireFittingValues({ plan, startPosition, fileBytes, isLast, nextState }: Chunk): void {
  const end = nextState.position?.offset ?? startPosition.offset;
  // Converted, the rows may be more than one chunk.
  for (let position = startPosition; position.offset < end; ) {
    const bytes = fileBytes.subarray(position.offset - startPosition.offset);
    position = convertNextChunk({ ...plan, mode: 'convert' }, position, bytes, isLast).nextPosition;
  }
}

/** Finds the line of the file on which a row of a chunk begins. @param index the number of the chunk's rows before it */
export function findRowLine({ plan, startPosition, fileBytes, isLast }: Chunk, index: number): number {
  // The longest piece that ends before the row's record: it begins where that piece's last record ends.
  let [fits, exceeds] = [0, fileBytes.length + 1];
  let { line } = startPosition;
  while (exceeds - fits > 1) {
    const length = Math.floor((fits + exceeds) / 2);
    const piece = convertNextChunk(
      plan,
      startPosition,
      fileBytes.subarray(0, length),
      isLast && length === fileBytes.length,
    );
    if (piece.rowCount <= index) {
      fits = length;
      line = piece.nextPosition.line;
    } else exceeds = length;
  }
  return line;
}

/** Converts Postgres's error (`COPY "table", line 12, column price: "abc"`) to a problem with the line number in the file. */
export function toRowProblem(chunk: Chunk, error: PostgresError): JobProblem {
  const { plan, startPosition } = chunk;
  const [, line, column, value] = /, line (\d+)(?:, column ([^:]+): "(.*)")?/s.exec(error.where ?? '') ?? [];
  const index = Number(line ?? 1) - 1;
  const errorPlace = {
    // Postgres counts the lines that it was sent: of the file itself, or one for each row.
    line: plan.mode === 'raw' ? startPosition.line + index : findRowLine(chunk, index),
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value: cutValue(value) }),
  };
  return new JobProblem(rowRefused(plan.file.fileName, errorPlace));
}
