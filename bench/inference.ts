/**
 * Measures the inference of a schema from every row, beside a bare papaparse pass over the same bytes in the same run.
 *
 *   npm run bench -- inference   (or: npx node bench/inference.ts [rows])
 *
 * 1M rows (about 99 MB), nine columns of all six types. Both read the file in blocks of 4 MB; papaparse only decodes
 * them and passes on its rows. The limit is 1.5 times its time.
 */
import { beginInference, finishInference, inferFromBlock } from '../src/modules/uploads/inference/index.ts';
import { writeOrdersCsv } from './orders.ts';
import { countRowsWithPapaparse } from './papaparse.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_RATIO = 1.5;
const ROUND_COUNT = 3;
const BLOCK_BYTES = 4 * 1024 * 1024;
const ROW_COUNT = Number(process.argv[2] ?? 1_000_000);

function inferSchema(bytes: Uint8Array): number {
  let state = beginInference({ fileName: 'pedidos.csv' });
  while (!state.done) {
    const end = state.offset + Math.max(BLOCK_BYTES, state.wants);
    state = inferFromBlock(state, bytes.subarray(state.offset, end), end >= bytes.length);
  }
  return finishInference([state]).schema.total_row_count_estimate;
}

/** Measures the seconds of one run, which must read every row. */
function measureSeconds(run: (bytes: Uint8Array) => number, bytes: Uint8Array): number {
  const startedAt = performance.now();
  const rows = run(bytes);
  if (rows !== ROW_COUNT) throw new Error(`${run.name} saw ${rows} rows of ${ROW_COUNT}`);
  return (performance.now() - startedAt) / 1000;
}

const bytes = writeOrdersCsv(ROW_COUNT);
console.log(`${ROW_COUNT} rows, nine columns, ${(bytes.length / 1e6).toFixed(0)} MB`);
const times = Array.from(
  { length: ROUND_COUNT },
  () => [measureSeconds(countRowsWithPapaparse, bytes), measureSeconds(inferSchema, bytes)] as const,
);
const papaparseSeconds = Math.min(...times.map(([time]) => time));
const inferenceSeconds = Math.min(...times.map(([, time]) => time));
const formatRowRate = (time: number) => `${time.toFixed(2)} s, ${Math.round(ROW_COUNT / time / 1000)}k rows/s`;
console.log(`papaparse, bare  ${formatRowRate(papaparseSeconds)}`);
console.log(`inference        ${formatRowRate(inferenceSeconds)}`);
printVerdict(
  'inference over 1M rows, against a bare papaparse pass',
  inferenceSeconds / papaparseSeconds,
  makeUpperLimit(MAX_RATIO),
);
