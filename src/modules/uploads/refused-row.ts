import type { CompanyContext } from '../../context.ts';
import { findRowLine, type LoadState, planFiles, readChunk } from './chunks.ts';
import { cutValue } from './inference/index.ts';
import type { JobError, WorkedJob } from './job.ts';
import { JobProblem } from './problems.ts';

/** Thrown for a staged row that the table cannot take: its number in the load, from 1, and the values of its key columns. */
export class RowRefusedError extends Error {
  readonly row: number;
  readonly keyValues: string[];
  readonly toProblem: (file: string, line: number, value: string) => JobError;

  constructor(row: number, keyValues: string[], toProblem: RowRefusedError['toProblem']) {
    super(`row ${row} cannot be brought into the table`);
    this.name = 'RowRefusedError';
    this.row = row;
    this.keyValues = keyValues;
    this.toProblem = toProblem;
  }
}

/** Finds the line of a rejected row in the files. @returns the problem with that line */
export async function toLocatedProblem(
  ctx: CompanyContext,
  job: WorkedJob<LoadState>,
  state: LoadState,
  { row, keyValues, toProblem }: RowRefusedError,
): Promise<JobProblem> {
  const place = await locateRow(ctx, job, state, row);
  if (!place) throw new Error('a row is not in the chunk that it came in');
  return new JobProblem(toProblem(place.file, place.line, cutValue(keyValues.join(', '))));
}

/**
 * Finds the file and line of a row of a load, by reading its chunk again; for a load that has not stored where its chunks start,
 * by reading all rows before it. @returns undefined where that is more than one message may read
 */
export async function locateRow(
  ctx: CompanyContext,
  job: WorkedJob<LoadState>,
  state: LoadState,
  row: number,
): Promise<{ file: string; line: number } | undefined> {
  // Edges of the time zone decide about values, not about lines.
  const plans = planFiles(job, null);
  const start = state.starts?.findLast(({ rows }) => rows < row) ?? { file: 0, position: null, rows: 0 };
  let budgetBytes = ctx.config.UPLOAD_MESSAGE_BYTES;
  let chunk = await readChunk(ctx, job, plans, { ...state, ...start });
  while (chunk && chunk.nextState.rows < row) {
    budgetBytes -= chunk.processedBytes;
    chunk = budgetBytes > 0 ? await readChunk(ctx, job, plans, chunk.nextState) : null;
  }
  if (!chunk) return undefined;
  const earlierRowCount = row - (chunk.nextState.rows - chunk.rowCount) - 1;
  return { file: chunk.plan.file.fileName, line: findRowLine(chunk, earlierRowCount) };
}
