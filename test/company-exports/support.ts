import { env } from 'cloudflare:test';
import { type FileMetaData, parquetMetadata, parquetRead } from 'hyparquet';
import { readDirectory } from '../../src/formats/zip/directory.ts';
import { openZip, unpackWhole } from '../../src/formats/zip/unpack.ts';
import { continueExport } from '../../src/modules/company-exports/jobs.ts';
import { sha256Hex } from '../../src/platform/secrets.ts';
import { BASE_URL, call, createCaller } from '../support/api.ts';
import { inContext } from '../support/context.ts';
import { selectRow } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import type { Company } from '../support/worlds.ts';
import { createHeldQueue, deliverMessage } from '../uploads/support.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const EXPORTS_PATH = '/v1/company/exports';
export const pathOf = ({ id }: { id: string }) => `/admin/organizations/${id}/exports`;

/** A queue that keeps the messages of exports until the test delivers them. */
export function aQueue() {
  const { messages, env: held } = createHeldQueue();
  return { messages, env: { DATA_JOBS: held.JOBS } as unknown as Record<string, string> };
}

/** An export that its owner has asked for, and that waits for its message to be delivered. */
export async function aStarted(company: Company) {
  const queue = aQueue();
  const { export_id: id } = await must(company.as.post(EXPORTS_PATH, { env: queue.env }));
  return { id: id as string, queue };
}

/** Delivers messages until none is left. */
export async function finish({ messages, env: held }: ReturnType<typeof aQueue>): Promise<void> {
  for (let message = messages.shift(); message; message = messages.shift()) {
    if ((await deliverMessage(message, held)) === 'again') throw new Error('the message was not taken');
  }
}

/** One turn at an export, which ends after the first file, and tells nobody to go on. */
export const oneFile = (
  { id }: { id: string },
  exportId: string,
  limits: { fileBytes?: number; milliseconds?: number; queries?: number } = {},
): Promise<void> =>
  inContext({ kind: 'system', companyId: id }, (ctx) =>
    continueExport({ ...ctx, jobs: { send: async () => {}, sendAll: async () => {} } }, exportId, {
      milliseconds: -1,
      queries: 0,
      fileBytes: 1e9,
      fileMilliseconds: 60_000,
      ...limits,
    }),
  );

/** Where an export goes on. */
export async function positionOf({ id: companyId }: { id: string }, id: string): Promise<string> {
  const row = await selectRow<{ checkpoint: string }>('select checkpoint from company_exports where id = ?', id);
  const state = await env.FILES.get(`company-exports/${companyId}/${id}/checkpoints/${row?.checkpoint}/state`);
  return JSON.stringify((await state?.json<{ next: unknown }>())?.next);
}

export const getExport = (company: Company, id: string) => must(company.as.get(`${EXPORTS_PATH}/${id}`));

export const objectsOf = async ({ id }: { id: string }): Promise<string[]> =>
  (await env.FILES.list({ prefix: `company-exports/${id}/` })).objects.map(({ key }) => key);

export interface Unpacked {
  bytes: Uint8Array;
  files: Map<string, Uint8Array<ArrayBuffer>>;
  text(path: string): string;
  records(path: string): Record<string, unknown>[];
  rows(path: string): Promise<unknown[][]>;
  manifest: { files: { path: string; rows: number | null; sha256: string }[] } & Record<string, unknown>;
}

/** Takes an archive by its link, and holds it against its manifest. */
export async function downloadArchive(url: string): Promise<Unpacked> {
  const { status, bytes } = await download(url);
  if (status !== 200) throw new Error(`the download answered ${status}`);
  const zip = openZip(bytes);
  const entries = await readDirectory(zip.read, bytes.length);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const entry of entries) files.set(entry.name, (await unpackWhole(zip, entry, 1e9)) as Uint8Array<ArrayBuffer>);
  const text = (path: string) => new TextDecoder().decode(files.get(path));
  const manifest = JSON.parse(text('manifest.json'));
  const named = ['manifest.json', ...manifest.files.map(({ path }: { path: string }) => path)];
  if (
    named.toSorted().join() !==
    entries
      .map(({ name }) => name)
      .toSorted()
      .join()
  ) {
    throw new Error('the manifest names other files than there are');
  }
  for (const { path, sha256 } of manifest.files) {
    if ((await sha256Hex(files.get(path) as Uint8Array<ArrayBuffer>)) !== sha256) throw new Error(`${path} differs`);
  }
  const records = (path: string) =>
    text(path)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return { bytes, files, text, records, manifest, rows: (path) => rowsIn(files.get(path) as Uint8Array<ArrayBuffer>) };
}

export async function download(url: string) {
  const { status, headers, body } = await call('GET', url.replace(BASE_URL, ''));
  return { status, headers, body, bytes: body as Uint8Array };
}

async function rowsIn(bytes: Uint8Array<ArrayBuffer>): Promise<unknown[][]> {
  const file = bytes.slice().buffer;
  const metadata: FileMetaData = parquetMetadata(file);
  let rows: unknown[][] = [];
  await parquetRead({
    file,
    metadata,
    onComplete: (found) => {
      rows = found;
    },
  });
  return rows;
}
