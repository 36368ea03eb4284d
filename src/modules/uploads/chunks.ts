import type { CompanyContext } from '../../context.ts';
import type { PostgresError } from '../../tenant-sql/client.ts';
import { literal, quoted } from '../../tenant-sql/identifiers.ts';
import { blockBytes, readBlock } from './blocks.ts';
import { type LoadPlan, nextChunk, type Position, planLoad, shown, type ZoneEdges } from './inference/index.ts';
import type { ConfirmedColumn, ConfirmedSchema, Reading, WorkedJob } from './job.ts';
import { JobProblem, rowRefused } from './problems.ts';

/** Where a load stands. */
export interface LoadState {
  /** The table to be, and the name of the staging table. */
  table_id: string;
  /** The file being loaded; as many as there are when all are. */
  file: number;
  /** Where in it the next row starts; null at its first. */
  position: Position | null;
  /** Rows loaded so far, of all files. */
  rows: number;
}

/** Rows on their way from a file to Postgres: a stretch of the file as COPY takes it. */
export interface Chunk {
  plan: LoadPlan;
  /** Where it starts in its file, and the bytes of the file from there on. */
  from: Position;
  block: Uint8Array;
  last: boolean;
  /** Bytes of the file that it stands for, and what of them goes to COPY. */
  bytes: number;
  data: Uint8Array;
  rows: number;
  /** Where the load stands after it. */
  after: LoadState;
}

/** What inference left for the load of an analysed job. */
export function readingOf({ reading }: WorkedJob<unknown>): Reading {
  if (!reading) throw new Error('a job that loads was analysed');
  return reading;
}

/** What was confirmed for a job that loads. */
export function confirmedOf({ confirmedSchema }: WorkedJob<unknown>): ConfirmedSchema {
  if (!confirmedSchema) throw new Error('a job that loads was confirmed');
  return confirmedSchema;
}

/** The columns that get values from the files. */
export const loadedColumns = (job: WorkedJob<unknown>): (ConfirmedColumn & { source_index: number })[] =>
  confirmedOf(job).columns.flatMap((column) => {
    const { source_index } = column;
    return source_index === null ? [] : [{ ...column, source_index }];
  });

/** How each file of a confirmed job is loaded. @param zone the time zone that was confirmed, where it is not UTC */
export function plansOf(job: WorkedJob<LoadState>, zone: ZoneEdges | null): LoadPlan[] {
  const { found, files } = readingOf(job);
  const columns = loadedColumns(job).map(({ name, type, nullable, source_index: source }) => {
    const inferred = found[source];
    if (!inferred) throw new Error('a confirmed column has no column in the files');
    return { name, type, nullable, source, inferredType: inferred.type, hasNulls: inferred.nullable };
  });
  return files.map((file) => planLoad(file, columns, zone));
}

/** The chunk that comes next, or null when all files are loaded. */
export async function prepareChunk(
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
  const source = readingOf(job).sources[file];
  if (!plan || !source) return null;
  const from = position ?? plan.start;
  for (let size = blockBytes(config); ; ) {
    const { bytes: block, last } = await readBlock(files, source, from.offset, Math.min(size, plan.end - from.offset));
    const taken = nextChunk(plan, from, block, last);
    if (taken.position.offset > from.offset) {
      const { data, rows } = taken;
      const after = { table_id: state.table_id, file, position: taken.position, rows: state.rows + rows };
      const bytes = taken.position.offset - from.offset;
      return { plan, from, block, last, bytes, data, rows, after };
    }
    if (taken.wants <= size) throw new Error('a block holds no row and no larger one is asked for');
    size = taken.wants;
  }
}

/** The COPY that enters a chunk, after the settings under which its values are read rightly. */
export function copyStatements(table: string, { plan }: Chunk, timeZone: string | null): string[] {
  return [
    `SET LOCAL DateStyle = ${literal(plan.dateStyle)}`,
    `SET LOCAL TimeZone = ${literal(timeZone ?? 'UTC')}`,
    `COPY ${table} (${plan.copyColumns.map(quoted).join(', ')}) FROM STDIN WITH (${plan.copyOptions})`,
  ];
}

/**
 * Reads a chunk that Postgres refused as strictly ourselves.
 * @throws InferenceError `VALUE_DOES_NOT_FIT` naming the value, if there is one
 */
export function findMisfit({ plan, from, block, last }: Chunk): void {
  nextChunk({ ...plan, mode: 'convert' }, from, block, last);
}

/** What Postgres says of a chunk it refused: `COPY "table", line 12, column price: "abc"`. */
export function refusalOf({ plan, from }: Chunk, error: PostgresError): JobProblem {
  const [, line, column, value] = /, line (\d+)(?:, column ([^:]+): "(.*)")?/s.exec(error.where ?? '') ?? [];
  const where = {
    line: from.line + Number(line ?? 1) - 1,
    ...(column !== undefined && { column }),
    ...(value !== undefined && { value: shown(value) }),
  };
  return new JobProblem(rowRefused(plan.file.fileName, where));
}
