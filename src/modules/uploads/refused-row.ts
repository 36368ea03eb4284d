import type { CompanyContext } from '../../context.ts';
import { type LoadState, planFiles, readChunk } from './chunks.ts';
import { cutValue, nextChunk } from './inference/index.ts';
import type { JobError, WorkedJob } from './job.ts';
import { JobProblem } from './problems.ts';

/** Thrown for a staged row that the table cannot take: `row` is its number in the load, from 1, `key` the values of its key. */
export class RowRefused extends Error {
  readonly row: number;
  readonly key: string[];
  readonly toProblem: (file: string, line: number, value: string) => JobError;

  constructor(row: number, key: string[], toProblem: RowRefused['toProblem']) {
    super(`row ${row} cannot be brought into the table`);
    this.name = 'RowRefused';
    this.row = row;
    this.key = key;
    this.toProblem = toProblem;
  }
}

/** Finds the place of a refused row in the files, by reading its chunk again. @returns the problem with that place */
export async function locateRefusedRow(
  ctx: CompanyContext,
  job: WorkedJob<LoadState>,
  state: LoadState,
  { row, key, toProblem }: RowRefused,
): Promise<JobProblem> {
  const start = state.starts?.findLast(({ rows }) => rows < row);
  // Edges of the time zone decide about values, not about lines.
  const chunk = start && (await readChunk(ctx, job, planFiles(job, null), { ...state, ...start }));
  if (!chunk) throw new Error('a row is not in the chunk that it came in');
  const { plan, from, block } = chunk;
  const before = row - start.rows - 1;
  // The longest piece that ends before the row's record: it begins where that piece's last record ends.
  let [fits, exceeds] = [0, block.length + 1];
  let { line } = from;
  while (exceeds - fits > 1) {
    const length = Math.floor((fits + exceeds) / 2);
    const piece = nextChunk(plan, from, block.subarray(0, length), chunk.last && length === block.length);
    if (piece.rows <= before) {
      fits = length;
      line = piece.position.line;
    } else exceeds = length;
  }
  return new JobProblem(toProblem(plan.file.fileName, line, cutValue(key.join(', '))));
}
