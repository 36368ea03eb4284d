import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../../bench/system.ts';
import { signedRequest } from '../../examples/signing/sign.ts';
import { downloadAnswer, type MemoryCase } from './case.ts';

/** Makes a case in which a Data API job writes the result of SQL, which is then downloaded. */
function makeJobCase(name: string, sql: string, format: string): MemoryCase {
  const slug = `job-${crypto.randomUUID()}`;
  return {
    name: `job of the Data API as ${format}: ${name}`,
    prepare: async ({ call }) => {
      const { _id } = await call('POST', '/v1/visualizations', { name, sql });
      await call('POST', '/v1/viz-api-endpoints', { name, slug, visualization_id: _id });
    },
    run: async (system) => {
      const { job_id: id } = await sendSigned(system, 'POST', `/data/${slug}/jobs`, { format });
      for (;;) {
        const { status, error, url, bytes } = await sendSigned(system, 'GET', `/data/jobs/${id}`);
        if (status === 'failed') throw new Error(error);
        if (status === 'succeeded') {
          const downloadedSize = await downloadAnswer(await fetch(url), 20_000_000);
          if (downloadedSize.bytes !== bytes || bytes < 50_000_000)
            throw new Error(`${downloadedSize.bytes} of ${bytes} bytes came`);
          return;
        }
        await sleep(500);
      }
    },
  };
}

async function sendSigned(
  { baseUrl, serviceAccountKey }: System,
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes.
): Promise<any> {
  const answer = await fetch(await signedRequest(serviceAccountKey, method, baseUrl + path, body));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return JSON.parse(text);
}

const ROWS_SQL = `SELECT n, repeat('a', 990) AS texto FROM generate_series(1, 60000) AS n`;

/** SQL whose rows grow so that a batch, whose size follows from earlier rows, becomes as large as possible: 16 MiB. */
const GROWING_ROWS_SQL = `SELECT n, repeat('a', CASE WHEN n <= 100 THEN 10 WHEN n <= 500 THEN 39000 WHEN n <= 526 THEN 600000 ELSE 10000000 END) AS texto
  FROM generate_series(1, 530) AS n`;

export const DATA_JOB_CASES: MemoryCase[] = [
  makeJobCase('60 MB', ROWS_SQL, 'csv'),
  makeJobCase('60 MB', ROWS_SQL, 'json'),
  makeJobCase('rows that grow to 10 MB', GROWING_ROWS_SQL, 'ndjson'),
];
