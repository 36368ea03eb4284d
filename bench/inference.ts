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
import { papaparse } from './papaparse.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const LIMIT = 1.5;
const ROUNDS = 3;
const BLOCK = 4 * 1024 * 1024;
const ROWS = Number(process.argv[2] ?? 1_000_000);

function infer(bytes: Uint8Array): number {
  let state = beginInference({ fileName: 'pedidos.csv' });
  while (!state.done) {
    const end = state.offset + Math.max(BLOCK, state.wants);
    state = inferFromBlock(state, bytes.subarray(state.offset, end), end >= bytes.length);
  }
  return finishInference([state]).schema.total_row_count_estimate;
}

/** Seconds of one run, which must read every row. */
function measureSeconds(run: (bytes: Uint8Array) => number, bytes: Uint8Array): number {
  const started = performance.now();
  const rows = run(bytes);
  if (rows !== ROWS) throw new Error(`${run.name} saw ${rows} rows of ${ROWS}`);
  return (performance.now() - started) / 1000;
}

const bytes = writeOrdersCsv(ROWS);
console.log(`${ROWS} rows, nine columns, ${(bytes.length / 1e6).toFixed(0)} MB`);
const times = Array.from(
  { length: ROUNDS },
  () => [measureSeconds(papaparse, bytes), measureSeconds(infer, bytes)] as const,
);
const bare = Math.min(...times.map(([time]) => time));
const ours = Math.min(...times.map(([, time]) => time));
const formatRowRate = (time: number) => `${time.toFixed(2)} s, ${Math.round(ROWS / time / 1000)}k rows/s`;
console.log(`papaparse, bare  ${formatRowRate(bare)}`);
console.log(`inference        ${formatRowRate(ours)}`);
printVerdict('inference over 1M rows, against a bare papaparse pass', ours / bare, makeUpperLimit(LIMIT));
