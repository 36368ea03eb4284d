import Uppy from '@uppy/core';
import Tus from '@uppy/tus';
import { Upload } from 'tus-js-client';
import { createClient, withToken } from '../../../client/client.ts';
import { makeCsv, RESUMABLE_NAME } from './csv.ts';

interface PageUpload {
  endpoint: string;
  token: string;
  rows: number;
  chunkSize: number;
}

const RETRY_DELAYS_MS = [0, 200, 500, 1_000, 2_000, 3_000, 3_000, 3_000];
const createFile = (rowCount: number) => new File([makeCsv(rowCount)], 'vendas.csv', { type: 'text/csv' });

/** Uploads with Uppy. @returns the address of the upload, and how often its progress was reported */
async function byUppy({
  endpoint,
  token,
  rows,
  chunkSize,
}: PageUpload): Promise<{ uploadAddress: string; reportCount: number }> {
  const headers = { authorization: `Bearer ${token}` };
  const uppy = new Uppy().use(Tus, { endpoint, headers, chunkSize, retryDelays: RETRY_DELAYS_MS });
  let progressCount = 0;
  uppy.on('upload-progress', () => {
    progressCount += 1;
  });
  uppy.addFile({ name: 'vendas.csv', type: 'text/csv', data: createFile(rows) });
  const { successful = [], failed = [] } = (await uppy.upload()) ?? {};
  if (failed.length > 0) throw new Error(String(failed[0]?.error));
  return { uploadAddress: successful[0]?.uploadURL ?? '', reportCount: progressCount };
}

function byTus({
  endpoint,
  token,
  rows,
  chunkSize,
}: PageUpload): Promise<{ uploadAddress: string; reportCount: number }> {
  return new Promise((resolve, reject) => {
    let progressCount = 0;
    const upload = new Upload(createFile(rows), {
      endpoint,
      headers: { authorization: `Bearer ${token}` },
      metadata: { filename: 'vendas.csv', filetype: 'text/csv' },
      chunkSize,
      retryDelays: RETRY_DELAYS_MS,
      onProgress: () => {
        progressCount += 1;
      },
      onError: reject,
      onSuccess: () => resolve({ uploadAddress: upload.url ?? '', reportCount: progressCount }),
    });
    upload.start();
  });
}

/** Uploads with the client of this project. @returns the job's id */
async function byClient({
  endpoint,
  token,
  rows,
}: PageUpload): Promise<{ uploadAddress: string; reportCount: number }> {
  const api = createClient({ baseUrl: new URL(endpoint).origin, credential: withToken(token) });
  let progressCount = 0;
  const onProgress = () => {
    progressCount += 1;
  };
  const { _id: at } = await api.upload(new File([makeCsv(rows)], RESUMABLE_NAME), { onProgress });
  return { uploadAddress: at, reportCount: progressCount };
}

Object.assign(globalThis, { byUppy, byTus, byClient });
