/**
 * Measures the memory of an upload of 100 MB: the peak resident memory of workerd (R2's simulator included) while it
 * receives the form, beside that of a bare `R2.put(request.body)` of the same bytes and of the runtime's own
 * `formData()`, each in a new process; and the peak while files of 25 and 100 MB are analysed and loaded, which must
 * not grow with the file.
 *
 *   npm run bench -- upload-memory
 *
 * The limits are 1.5 times the bare put, and 0.8 times `formData()`; for the larger file 1.25 times the smaller one.
 * Needs Linux.
 */
import { loadJob, type System, startSystem, uploadFile, waitForJob } from './system.ts';
import { makeCsv } from './upload-memory/csv.ts';
import { readResidentMemory, resetPeak } from './usage.ts';
import { makeUpperLimit, printVerdict } from './verdict.ts';

const MAX_PUT_RATIO = 1.5;
const MAX_FORM_DATA_RATIO = 0.8;
const MAX_GROWTH_RATIO = 1.25;
const MEGABYTE_BYTES = 1_000_000;

/** Measures the peak memory while a new process stores a body. */
async function measureReceiving(system: System, storeBody: () => Promise<unknown>): Promise<number> {
  await system.restart();
  await system.call('GET', '/v1/managed-tables/status');
  await resetPeak(await system.findWorkerdPid());
  await storeBody();
  return (await readResidentMemory(await system.findWorkerdPid())).peakMb;
}

/** Measures the peak memory while a new process analyses and loads a file. */
async function measureLoading(system: System, csv: File, name: string): Promise<number> {
  const jobId = await uploadFile(system, csv);
  const { company_id: companyId } = await system.call('GET', `/v1/managed-tables/upload-jobs/${jobId}`);
  await system.restart();
  await resetPeak(await system.findWorkerdPid());
  // The local queue is in memory: the restart lost the job's message.
  await system.call('POST', '/bench/message', { type: 'upload.analyse', companyId, jobId });
  await loadJob(system, await waitForJob(system, jobId, 'waiting_confirm'), { display_name: name });
  return (await readResidentMemory(await system.findWorkerdPid())).peakMb;
}

const system = await startSystem('bench/upload-memory/worker.ts');
try {
  const largeFile = makeCsv(100 * MEGABYTE_BYTES);
  const putPeak = await measureReceiving(system, () => system.call('POST', '/bench/put', largeFile));
  const uploadPeak = await measureReceiving(system, () => uploadFile(system, largeFile));
  const form = new FormData();
  form.append('files', largeFile);
  const formDataPeak = await measureReceiving(system, () => system.call('POST', '/bench/form', form));
  const formatMegabytes = (figure: number) => `${figure.toFixed(0)} MB`;
  console.log(
    `receiving 100 MB: bare put ${formatMegabytes(putPeak)}, upload ${formatMegabytes(uploadPeak)}, formData() ${formatMegabytes(formDataPeak)}`,
  );
  printVerdict(
    'peak memory of receiving 100 MB, against a bare R2.put',
    uploadPeak / putPeak,
    makeUpperLimit(MAX_PUT_RATIO),
  );
  printVerdict('the same, against formData()', uploadPeak / formDataPeak, makeUpperLimit(MAX_FORM_DATA_RATIO));

  const smallFilePeak = await measureLoading(system, makeCsv(25 * MEGABYTE_BYTES), 'pequena');
  const largeFilePeak = await measureLoading(system, largeFile, 'grande');
  const growth = largeFilePeak / smallFilePeak;
  console.log(`analysing and loading: 25 MB ${smallFilePeak.toFixed(0)} MB, 100 MB ${largeFilePeak.toFixed(0)} MB`);
  printVerdict('peak memory of the work on 100 MB, against that on 25 MB', growth, makeUpperLimit(MAX_GROWTH_RATIO));
} finally {
  await system.stop();
}
