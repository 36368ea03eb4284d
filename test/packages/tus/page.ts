import Uppy from '@uppy/core';
import Tus from '@uppy/tus';
import { Upload } from 'tus-js-client';
import { createClient, withToken } from '../../../client/client.ts';
import { csvOf } from './csv.ts';

interface Sending {
  endpoint: string;
  token: string;
  rows: number;
  chunkSize: number;
}

const RETRIES = [0, 200, 500, 1_000, 2_000, 3_000, 3_000, 3_000];
const fileOf = (rows: number) => new File([csvOf(rows)], 'vendas.csv', { type: 'text/csv' });

/** @returns where the upload is, and how often it was told how far it is */
async function byUppy({ endpoint, token, rows, chunkSize }: Sending): Promise<{ at: string; told: number }> {
  const headers = { authorization: `Bearer ${token}` };
  const uppy = new Uppy().use(Tus, { endpoint, headers, chunkSize, retryDelays: RETRIES });
  let told = 0;
  uppy.on('upload-progress', () => {
    told += 1;
  });
  uppy.addFile({ name: 'vendas.csv', type: 'text/csv', data: fileOf(rows) });
  const { successful = [], failed = [] } = (await uppy.upload()) ?? {};
  if (failed.length > 0) throw new Error(String(failed[0]?.error));
  return { at: successful[0]?.uploadURL ?? '', told };
}

function byTus({ endpoint, token, rows, chunkSize }: Sending): Promise<{ at: string; told: number }> {
  return new Promise((resolve, reject) => {
    let told = 0;
    const upload = new Upload(fileOf(rows), {
      endpoint,
      headers: { authorization: `Bearer ${token}` },
      metadata: { filename: 'vendas.csv', filetype: 'text/csv' },
      chunkSize,
      retryDelays: RETRIES,
      onProgress: () => {
        told += 1;
      },
      onError: reject,
      onSuccess: () => resolve({ at: upload.url ?? '', told }),
    });
    upload.start();
  });
}

/** By the client of this project. @returns the job's id */
async function byClient({ endpoint, token, rows }: Sending): Promise<{ at: string; told: number }> {
  const api = createClient({ baseUrl: new URL(endpoint).origin, credential: withToken(token) });
  let told = 0;
  const onProgress = () => {
    told += 1;
  };
  const { _id: at } = await api.upload(fileOf(rows), { onProgress });
  return { at, told };
}

Object.assign(globalThis, { byUppy, byTus, byClient });
