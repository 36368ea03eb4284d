import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { Upload } from 'tus-js-client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type System, startSystem } from '../../bench/system.ts';
import { type CuttingProxy, cuttingProxy } from '../packages/cutting-proxy.ts';
import { createRandomChoices, type Random } from '../support/random.ts';

const MIB = 1024 * 1024;
const PIECE = 8 * MIB;
/** More of them: `RANDOM_UPLOADS=1000 npx vitest run test/local/kills-uploads.test.ts`. */
const COUNT = Number(process.env.RANDOM_UPLOADS ?? 60);
/** One upload of so many kills the runtime: it takes seconds to start. */
const UPLOADS_PER_KILL = 20;
/** A bound for what hangs, on a busy machine, too. */
const UPLOAD_MS = 120_000;

let system: System;
let postgres: Client;
let proxy: CuttingProxy;
beforeAll(async () => {
  system = await startSystem('test/local/kills-worker.ts');
  postgres = new Client({ connectionString: system.postgresUrl });
  await postgres.connect();
  proxy = await cuttingProxy(system.baseUrl);
}, 180_000);
afterAll(async () => {
  proxy?.close();
  await postgres?.end();
  await system?.stop();
}, 180_000);

const FILE_BYTES = Buffer.alloc(3 * PIECE);
for (let at = 0; at < FILE_BYTES.length; at += 1)
  FILE_BYTES[at] = at % 64 === 63 ? 10 : 97 + ((Math.imul(at, 2_654_435_761) >>> 16) % 26);

/** What happens to an upload on its way: connections are cut, its client dies and another goes on, the runtime is killed. */
interface Troubles {
  /** Bytes of a connection after which it is cut, for the next connections. */
  cuts: number[];
  /** Bytes sent after which the client dies. */
  diesAt: number[];
  /** Bytes sent after which workerd is killed, and how many milliseconds later. */
  killedAt?: { bytes: number; later: number };
}

function makeTroubles(random: Random, length: number, isKilled: boolean): Troubles {
  const some = (most: number) => Array.from({ length: random.upTo(most) }, () => random.upTo(length));
  return {
    cuts: some(3).map((bytes) => bytes + random.upTo(2_000)),
    diesAt: some(2),
    ...(isKilled && { killedAt: { bytes: random.upTo(length), later: random.upTo(100) } }),
  };
}

let restarted: Promise<void> | undefined;

async function killRuntime(): Promise<void> {
  process.kill(await system.workerd(), 'SIGKILL');
  await system.restart();
}

/** Sends bytes with clients that die and are followed by others. @returns the id of the job */
async function sendBytes(
  bytes: Buffer,
  token: string,
  random: Random,
  { cuts, diesAt, killedAt }: Troubles,
  seen: { kills: number; deaths: number },
): Promise<string> {
  proxy.cuts = cuts;
  let address: string | null = null;
  for (;;) {
    const dies = diesAt.shift();
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
        onProgress: (sent) => {
          if (killedAt && sent >= killedAt.bytes) {
            const { later } = killedAt;
            killedAt = undefined;
            seen.kills += 1;
            restarted = sleep(later).then(killRuntime);
          }
          if (dies !== undefined && sent >= dies && address) void upload.abort().then(() => resolve('dead'), reject);
        },
        onError: reject,
        onSuccess: () => resolve('whole'),
      });
      upload.start();
    });
    if (outcome === 'whole') break;
    seen.deaths += 1;
  }
  await restarted;
  return (address as unknown as string).split('/').at(-1) as string;
}

/** How long a token is used: well below what it is good for, as a slow machine takes long for an upload. */
const TOKEN_MS = 5 * 60_000;

/** The SHA-256 of the bytes that a job has. */
async function digestStored(jobId: string): Promise<string> {
  const { rows } = await postgres.query('SELECT files FROM console.upload_jobs WHERE id = $1', [jobId]);
  return (await system.call('POST', '/digest', rows[0].files[0])).digest;
}

it(
  `resumable uploads arrive byte for byte when client, network and runtime fail at random (${COUNT})`,
  async () => {
    const seed = inject('seed');
    const failed: string[] = [];
    const seen = { cuts: 0, kills: 0, deaths: 0 };
    let token = '';
    let since = Number.NEGATIVE_INFINITY;
    for (let number = 0; number < COUNT; number += 1) {
      const random = createRandomChoices(seed + number);
      const length = random.chance(0.95)
        ? 1 + random.upTo(200_000)
        : random.of([PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 7]);
      const bytes = FILE_BYTES.subarray(random.upTo(FILE_BYTES.length - length)).subarray(0, length);
      const isKilled = number % UPLOADS_PER_KILL === UPLOADS_PER_KILL - 1;
      if (isKilled || performance.now() - since > TOKEN_MS) {
        token = await system.logIn();
        since = performance.now();
      }
      const made = proxy.made;
      const jobId = await sendBytes(bytes, token, random, makeTroubles(random, length, isKilled), seen);
      seen.cuts += proxy.made - made;
      if ((await digestStored(jobId)) !== createHash('sha256').update(bytes).digest('hex'))
        failed.push(`seed ${seed + number}, ${length} bytes`);
    }
    console.log(`${COUNT} uploads: ${JSON.stringify(seen)}`);
    expect(failed).toEqual([]);
    expect(seen.cuts).toBeGreaterThan(0);
  },
  COUNT * UPLOAD_MS,
);
