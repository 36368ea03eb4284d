import { open } from 'node:fs/promises';
import { createClient, withKey } from '../client/client.ts';
import { writeOrdersCsv, writeOrdersNdjson, writeOrdersParquet } from './orders.ts';
import { loadJob, type System, waitForJob } from './system.ts';

export const MILLION = 1_000_000;

/** Kinds of large files: millions of rows in a file of the standard size, and the function that writes it. */
export const FILE_KINDS = {
  csv: { millions: 11, write: writeCsv },
  ndjson: { millions: 5.7, write: writeNdjson },
  parquet: { millions: 10, write: writeOrdersParquet },
};
export type FileKind = keyof typeof FILE_KINDS;

/** Writes a CSV file, a million equal rows at a time. */
export async function writeCsv(path: string, rows: number): Promise<void> {
  const file = await open(path, 'w');
  for (let remainingRows = rows; remainingRows > 0; remainingRows -= MILLION) {
    const csv = writeOrdersCsv(Math.min(remainingRows, MILLION));
    await file.writeFile(remainingRows === rows ? csv : csv.subarray(csv.indexOf(10) + 1));
  }
  await file.close();
}

async function writeNdjson(path: string, rows: number): Promise<void> {
  const file = await open(path, 'w');
  for (const lines of writeOrdersNdjson(rows)) await file.writeFile(lines);
  await file.close();
}

/** Sends a file by tus and has it loaded into a new table. @returns milliseconds of each, and the rows that were loaded */
export async function loadByTus(system: System, path: string, table: string) {
  const api = createClient({ baseUrl: system.baseUrl, credential: withKey(system.serviceAccountKey) });
  const startedAt = performance.now();
  // Node's `openAsBlob` tells the size of a file of 4 GiB or more wrongly.
  await using file = await open(path);
  const { size } = await file.stat();
  const readSlice = async (start: number, end: number) => {
    const { buffer, bytesRead } = await file.read(new Uint8Array(Math.min(end, size) - start), { position: start });
    return new Blob([buffer.subarray(0, bytesRead)]);
  };
  const { _id: jobId } = await api.upload({ name: path.slice(path.lastIndexOf('/') + 1), size, slice: readSlice });
  const sentAt = performance.now();
  const waitingJob = await waitForJob(system, jobId, 'waiting_confirm');
  const inferredAt = performance.now();
  const loadedJob = await loadJob(system, waitingJob, { display_name: table });
  const times = { send: sentAt - startedAt, infer: inferredAt - sentAt, load: performance.now() - inferredAt };
  return { ...times, rows: loadedJob.progress.rows_processed as number };
}
