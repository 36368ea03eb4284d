/**
 * Converts a workbook in the whole running system: 100,000 rows of nine columns.
 *
 *   npm run bench -- workbook   (or: npx node bench/workbook.ts [rows])
 *
 * From upload to waiting_confirm (by the job's timestamps) may take 1.3 times as long as a bare pass of read-excel-file
 * over the same bytes in Node. The two take turns, and the median of the rounds' ratios counts, so that other load on
 * the machine affects both.
 */
import readWorkbook from 'read-excel-file/node';
import { writeOrdersWorkbook } from './orders.ts';
import { type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { readCpuSeconds, readResidentMemory } from './usage.ts';
import { computeMedian, formatRate, makeUpperLimit, measureMilliseconds, printVerdict } from './verdict.ts';

const MAX_RATIO = 1.3;
const ROUND_COUNT = 7;
const ROW_COUNT = Number(process.argv[2] ?? 100_000);

async function readWithPackage(book: Uint8Array): Promise<void> {
  const [sheet] = await readWorkbook(Buffer.from(book));
  if (sheet?.data.length !== ROW_COUNT + 1) throw new Error('read-excel-file saw other rows');
}

/** Measures the ms until a workbook is received, then until it waits for its confirmation; and workerd's CPU in s. */
async function measureConversion(system: System, book: Uint8Array<ArrayBuffer>) {
  const workerPid = await system.findWorkerdPid();
  const cpuBefore = await readCpuSeconds(workerPid);
  const sentAt = Date.now();
  const jobId = await uploadFile(system, new File([book], 'pedidos.xlsx'));
  const receivedAt = Date.now();
  const job = await waitForJob(system, jobId, 'waiting_confirm');
  const cpuSeconds = (await readCpuSeconds(workerPid)) - cpuBefore;
  if (job.inferred_schema.total_row_count_estimate !== ROW_COUNT) throw new Error('we saw other rows');
  await system.call('POST', `/v1/managed-tables/upload-jobs/${jobId}/cancel`);
  return { receive: receivedAt - sentAt, infer: Date.parse(job.updated_at) - receivedAt, cpu: cpuSeconds };
}

const book = writeOrdersWorkbook(ROW_COUNT);
const system = await startSystem();
try {
  console.log(`${ROW_COUNT.toLocaleString('en')} rows, nine columns, ${(book.length / 1e6).toFixed(1)} MB`);
  const times: { bareMs: number; inferMs: number }[] = [];
  for (let round = 0; round <= ROUND_COUNT; round++) {
    const packageMs = await measureMilliseconds(() => readWithPackage(book));
    const { receive, infer, cpu } = await measureConversion(system, book);
    const kind = round === 0 ? 'warm-up' : `round ${round}`;
    console.log(
      `${kind}: read-excel-file ${packageMs.toFixed(0)} ms, receive ${receive} ms, infer ${infer} ms, workerd ${cpu.toFixed(1)} s of CPU`,
    );
    if (round > 0) times.push({ bareMs: packageMs, inferMs: infer });
  }
  const { peakMb } = await readResidentMemory(await system.findWorkerdPid());
  const [bare, infer] = [
    computeMedian(times.map((time) => time.bareMs)),
    computeMedian(times.map((time) => time.inferMs)),
  ];
  const rates = [bare, infer].map((ms) => formatRate(ROW_COUNT, ms));
  console.log(`median: read-excel-file ${rates[0]}, upload to waiting_confirm ${rates[1]}`);
  console.log(`peak resident memory of workerd ${peakMb.toFixed(0)} MB, R2's simulator included`);
  const ratio = computeMedian(times.map((time) => time.inferMs / time.bareMs));
  printVerdict(
    'an .xlsx of 100,000 rows to waiting_confirm, against bare read-excel-file',
    ratio,
    makeUpperLimit(MAX_RATIO),
  );
} finally {
  await system.stop();
}
