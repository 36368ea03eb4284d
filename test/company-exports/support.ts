import { env } from 'cloudflare:test';
import { type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet';
import { readDirectory } from '../../src/formats/zip/directory.ts';
import { createZipSource, unpackWhole } from '../../src/formats/zip/unpack.ts';
import { continueExport } from '../../src/modules/company-exports/jobs.ts';
import { computeSha256Hex } from '../../src/platform/secrets.ts';
import { BASE_URL, callApi, createCaller } from '../support/api.ts';
import type { Company } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { selectRow } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createTestQueue, deliverMessage } from '../uploads/support.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const EXPORTS_PATH = '/v1/company/exports';
export const formatExportsPath = ({ id }: { id: string }) => `/admin/organizations/${id}/exports`;

/** Creates a queue that holds the messages about exports until the test delivers them. */
export function createExportQueue() {
  const { messages, env: heldEnv } = createTestQueue();
  return { messages, env: { DATA_JOBS: heldEnv.JOBS } as unknown as Record<string, string> };
}

/** Requests an export as the company's owner, and holds its message in a queue. */
export async function startExport(company: Company) {
  const queue = createExportQueue();
  const { export_id: id } = await expectSuccess(company.as.post(EXPORTS_PATH, { env: queue.env }));
  return { id: id as string, queue };
}

/** Delivers messages until none is left. */
export async function deliverUntilEmpty({
  messages,
  env: heldEnv,
}: ReturnType<typeof createExportQueue>): Promise<void> {
  for (let message = messages.shift(); message; message = messages.shift()) {
    if ((await deliverMessage(message, heldEnv)) === 'again') throw new Error('the message was not taken');
  }
}

/** Runs one turn of an export, which ends after its first file and queues no message to continue. */
export const exportOneFile = (
  { id }: { id: string },
  exportId: string,
  limits: { fileBytes?: number; milliseconds?: number; queries?: number } = {},
): Promise<void> =>
  runInContext({ kind: 'system', companyId: id }, (ctx) =>
    continueExport({ ...ctx, jobs: { send: async () => {}, sendAll: async () => {} } }, exportId, {
      milliseconds: -1,
      queries: 0,
      fileBytes: 1e9,
      fileMilliseconds: 60_000,
      ...limits,
    }),
  );

/** Returns the position, as JSON, at which an export will continue. */
export async function readPosition({ id: companyId }: { id: string }, id: string): Promise<string> {
  const row = await selectRow<{ checkpoint: string }>('select checkpoint from company_exports where id = ?', id);
  const state = await env.FILES.get(`company-exports/${companyId}/${id}/checkpoints/${row?.checkpoint}/state`);
  return JSON.stringify((await state?.json<{ next: unknown }>())?.next);
}

export const getExport = (company: Company, id: string) => expectSuccess(company.as.get(`${EXPORTS_PATH}/${id}`));

export const listExportObjects = async ({ id }: { id: string }): Promise<string[]> =>
  (await env.FILES.list({ prefix: `company-exports/${id}/` })).objects.map(({ key }) => key);

export interface UnpackedArchive {
  bytes: Uint8Array;
  files: Map<string, Uint8Array<ArrayBuffer>>;
  readText(path: string): string;
  readRecords(path: string): Record<string, unknown>[];
  readRows(path: string): Promise<unknown[][]>;
  manifest: { files: { path: string; rows: number | null; sha256: string }[] } & Record<string, unknown>;
}

/** Downloads an archive by its link, and checks it against its manifest. */
export async function downloadArchive(url: string): Promise<UnpackedArchive> {
  const { status, bytes } = await download(url);
  if (status !== 200) throw new Error(`the download answered ${status}`);
  const zip = createZipSource(bytes);
  const entries = await readDirectory(zip.read, bytes.length);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const entry of entries) files.set(entry.name, (await unpackWhole(zip, entry, 1e9)) as Uint8Array<ArrayBuffer>);
  const readText = (path: string) => new TextDecoder().decode(files.get(path));
  const manifest = JSON.parse(readText('manifest.json'));
  const listedNames = ['manifest.json', ...manifest.files.map(({ path }: { path: string }) => path)];
  if (
    listedNames.toSorted().join() !==
    entries
      .map(({ name }) => name)
      .toSorted()
      .join()
  ) {
    throw new Error('the manifest names other files than there are');
  }
  for (const { path, sha256 } of manifest.files) {
    if ((await computeSha256Hex(files.get(path) as Uint8Array<ArrayBuffer>)) !== sha256)
      throw new Error(`${path} differs`);
  }
  const readRecords = (path: string) =>
    readText(path)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return {
    bytes,
    files,
    readText,
    readRecords,
    manifest,
    readRows: (path) => readParquetRows(files.get(path) as Uint8Array<ArrayBuffer>),
  };
}

export async function download(url: string) {
  const { status, headers, body } = await callApi('GET', url.replace(BASE_URL, ''));
  return { status, headers, body, bytes: body as Uint8Array };
}

async function readParquetRows(bytes: Uint8Array<ArrayBuffer>): Promise<unknown[][]> {
  const file = bytes.slice().buffer;
  const metadata: FileMetaData = parquetMetadata(file);
  let rows: unknown[][] = [];
  await parquetRead({
    file,
    metadata,
    onComplete: (parsedRows) => {
      rows = parsedRows;
    },
  });
  return rows;
}
