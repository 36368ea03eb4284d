/**
 * What inferring a schema from every row costs, beside a bare papaparse pass over the same bytes in the same run.
 *
 *   node bench/inference.ts [rows]
 *
 * 1M rows (about 95 MB), nine columns of all six types. Both read the file in blocks of 4 MB; papaparse decodes each and
 * hands out its rows without keeping them, which is the least it can do. At most 1.5 times its time is the limit.
 */
import Papa from 'papaparse';
import { beginInference, feed, finish } from '../src/modules/uploads/inference/index.ts';

const LIMIT = 1.5;
const ROUNDS = 3;
const BLOCK = 4 * 1024 * 1024;
const ROWS = Number(process.argv[2] ?? 1_000_000);

/** A file of orders: numbers, dates, moments, booleans, text with and without quotes, some values missing. */
function orders(rows: number): Uint8Array {
  let seed = 20_240_131;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return seed % below;
  };
  const two = (number: number): string => String(number).padStart(2, '0');
  const encoder = new TextEncoder();
  const bytes = new Uint8Array(rows * 110 + 1024);
  let length = 0;
  const write = (text: string): void => {
    length += encoder.encodeInto(text, bytes.subarray(length)).written;
  };
  write('pedido,cliente,cidade,quantidade,valor,pago,vencimento,criado_em,nota\n');
  for (let row = 1; row <= rows; row++) {
    const cells = [
      row,
      `Cliente ${random(50_000)}`,
      `São ${random(900)}`,
      random(100),
      `${random(100_000)}.${two(random(100))}`,
      random(2) === 0 ? 'true' : 'false',
      random(20) === 0 ? '' : `20${two(10 + random(15))}-${two(1 + random(12))}-${two(1 + random(28))}`,
      `2024-${two(1 + random(12))}-${two(1 + random(28))}T${two(random(24))}:${two(random(60))}:${two(random(60))}Z`,
      random(3) === 0 ? '"entregar, se possível"' : 'sem observação',
    ];
    write(`${cells.join(',')}\n`);
  }
  return bytes.subarray(0, length);
}

function infer(bytes: Uint8Array): number {
  let state = beginInference({ fileName: 'pedidos.csv' });
  while (!state.done) {
    const end = state.offset + Math.max(BLOCK, state.wants);
    state = feed(state, bytes.subarray(state.offset, end), end >= bytes.length);
  }
  return finish([state]).schema.total_row_count_estimate;
}

function papaparse(bytes: Uint8Array): number {
  const decoder = new TextDecoder();
  let rows = -1;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.lastIndexOf(10, Math.min(bytes.length, at + BLOCK) - 1) + 1;
    const step = () => {
      rows++;
    };
    Papa.parse(decoder.decode(bytes.subarray(at, end)), { step, skipEmptyLines: true });
    at = end;
  }
  return rows;
}

/** Seconds of one run, which must see every row. */
function seconds(run: (bytes: Uint8Array) => number, bytes: Uint8Array): number {
  const started = performance.now();
  const rows = run(bytes);
  if (rows !== ROWS) throw new Error(`${run.name} saw ${rows} rows of ${ROWS}`);
  return (performance.now() - started) / 1000;
}

const bytes = orders(ROWS);
console.log(`${ROWS} rows, nine columns, ${(bytes.length / 1e6).toFixed(0)} MB`);
const times = Array.from({ length: ROUNDS }, () => [seconds(papaparse, bytes), seconds(infer, bytes)] as const);
const bare = Math.min(...times.map(([time]) => time));
const ours = Math.min(...times.map(([, time]) => time));
const ratio = ours / bare;
const rate = (time: number) => `${time.toFixed(2)} s, ${Math.round(ROWS / time / 1000)}k rows/s`;
console.log(`papaparse, bare  ${rate(bare)}`);
console.log(`inference        ${rate(ours)}`);
console.log(`ratio ${ratio.toFixed(2)} (limit ${LIMIT})`);
if (ratio > LIMIT) process.exitCode = 1;
