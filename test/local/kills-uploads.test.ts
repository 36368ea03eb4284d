import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Upload } from 'tus-js-client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type System, startSystem } from '../../bench/system.ts';
import { type CuttingProxy, startCuttingProxy } from '../packages/cutting-proxy.ts';
import { createRandomChoices, type RandomChoices } from '../support/random.ts';

const MIB_BYTES = 1024 * 1024;
const PART_BYTES = 8 * MIB_BYTES;
/** The number of uploads; for more: `RANDOM_UPLOADS=1000 npx vitest run test/local/kills-uploads.test.ts`. */
const UPLOAD_COUNT = Number(process.env.RANDOM_UPLOADS ?? 60);
/** The number of uploads of which one kills the runtime, which takes seconds to start again. */
const UPLOADS_PER_KILL = 20;
/** The maximum time of an upload, even on a busy machine. */
const MAX_UPLOAD_MS = 120_000;

let system: System;
let postgres: Client;
let proxy: CuttingProxy;
beforeAll(async () => {
  system = await startSystem('test/local/kills-worker.ts');
  postgres = new Client({ connectionString: system.postgresUrl });
  await postgres.connect();
  proxy = await startCuttingProxy(system.baseUrl);
}, 180_000);
afterAll(async () => {
  proxy?.close();
  await postgres?.end();
  await system?.stop();
}, 180_000);

const FILE_BYTES = Buffer.alloc(3 * PART_BYTES);
for (let at = 0; at < FILE_BYTES.length; at += 1)
  FILE_BYTES[at] = at % 64 === 63 ? 10 : 97 + ((Math.imul(at, 2_654_435_761) >>> 16) % 26);

/** Disturbances of an upload: connections are cut, its client dies and another one continues, or the runtime is killed. */
interface Disturbances {
  /** For each of the next connections, the number of bytes after which it is cut. */
  cutOffsets: number[];
  /** For each client, the number of sent bytes after which it dies. */
  clientAbortOffsets: number[];
  /** The number of sent bytes after which workerd is killed, and the delay in milliseconds. */
  killPoint?: { byteCount: number; delayMs: number };
}

function makeDisturbances(random: RandomChoices, length: number, isKilled: boolean): Disturbances {
  const makeByteCounts = (maxCount: number) => Array.from({ length: random.upTo(maxCount) }, () => random.upTo(length));
  return {
    cutOffsets: makeByteCounts(3).map((bytes) => bytes + random.upTo(2_000)),
    clientAbortOffsets: makeByteCounts(2),
    ...(isKilled && { killPoint: { byteCount: random.upTo(length), delayMs: random.upTo(100) } }),
  };
}

let pendingRestart: Promise<void> | undefined;

async function killRuntime(): Promise<void> {
  process.kill(await system.findWorkerdPid(), 'SIGKILL');
  await system.restart();
}

/** Sends bytes with clients that die and are replaced by others. @returns the id of the job */
async function sendBytes(
  bytes: Buffer,
  token: string,
  random: RandomChoices,
  { cutOffsets, clientAbortOffsets, killPoint }: Disturbances,
  counts: { killCount: number; deathCount: number },
): Promise<string> {
  proxy.cutOffsets = cutOffsets;
  let address: string | null = null;
  for (;;) {
    const clientAbortOffset = clientAbortOffsets.shift();
    const outcome = await new Promise<'whole' | 'dead'>((resolve, reject) => {
      const upload: Upload = new Upload(bytes, {
        endpoint: `${proxy.url}/v1/managed-tables/uploads`,
        ...(address && { uploadUrl: address }),
        headers: { authorization: `Bearer ${token}` },
        metadata: { filename: 'vendas.csv' },
        ...(random.chance(0.5) && { chunkSize: 1 + random.upTo(bytes.length) + (bytes.length >> 4) }),
        retryDelays: [0, 50, 100, 200, 500, ...Array(40).fill(1_000)],
        onUploadUrlAvailable: () => {
          address = upload.url;
        },
        onProgress: (sentBytes) => {
          if (killPoint && sentBytes >= killPoint.byteCount) {
            const { delayMs } = killPoint;
            killPoint = undefined;
            counts.killCount += 1;
            pendingRestart = sleep(delayMs).then(killRuntime);
          }
          if (clientAbortOffset !== undefined && sentBytes >= clientAbortOffset && address)
            void upload.abort().then(() => resolve('dead'), reject);
        },
        onError: reject,
        onSuccess: () => resolve('whole'),
      });
      upload.start();
    });
    if (outcome === 'whole') break;
    counts.deathCount += 1;
  }
  await pendingRestart;
  return (address as unknown as string).split('/').at(-1) as string;
}

/** The time after which a token is replaced: well before it expires, as an upload takes long on a slow machine. */
const MAX_TOKEN_AGE_MS = 5 * 60_000;

/** Computes the SHA-256 of the stored bytes of a job. */
async function computeStoredDigest(jobId: string): Promise<string> {
  const { rows } = await postgres.query('SELECT files FROM console.upload_jobs WHERE id = $1', [jobId]);
  return (await system.call('POST', '/digest', rows[0].files[0])).digest;
}

it(
  `resumable uploads arrive byte for byte when client, network and runtime fail at random (${UPLOAD_COUNT})`,
  async () => {
    const seed = inject('seed');
    const failedUploads: string[] = [];
    const counts = { cuts: 0, killCount: 0, deathCount: 0 };
    let token = '';
    let tokenTime = Number.NEGATIVE_INFINITY;
    for (let uploadNumber = 0; uploadNumber < UPLOAD_COUNT; uploadNumber += 1) {
      const random = createRandomChoices(seed + uploadNumber);
      const length = random.chance(0.95)
        ? 1 + random.upTo(200_000)
        : random.of([PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES, 2 * PART_BYTES + 7]);
      const bytes = FILE_BYTES.subarray(random.upTo(FILE_BYTES.length - length)).subarray(0, length);
      const isKilled = uploadNumber % UPLOADS_PER_KILL === UPLOADS_PER_KILL - 1;
      if (isKilled || performance.now() - tokenTime > MAX_TOKEN_AGE_MS) {
        token = await system.logIn();
        tokenTime = performance.now();
      }
      const connectionsBefore = proxy.cutCount;
      const jobId = await sendBytes(bytes, token, random, makeDisturbances(random, length, isKilled), counts);
      counts.cuts += proxy.cutCount - connectionsBefore;
      if ((await computeStoredDigest(jobId)) !== createHash('sha256').update(bytes).digest('hex'))
        failedUploads.push(`seed ${seed + uploadNumber}, ${length} bytes`);
    }
    console.log(`${UPLOAD_COUNT} uploads: ${JSON.stringify(counts)}`);
    expect(failedUploads).toEqual([]);
    expect(counts.cuts).toBeGreaterThan(0);
  },
  UPLOAD_COUNT * MAX_UPLOAD_MS,
);
