import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare, type V4WorkerOptionsShape } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unstable_getMiniflareWorkerOptions as workerOptionsOf } from 'wrangler';
import { bundleWorker } from '../../local/bundle.ts';
import { makeMissingSecrets } from '../../operations/deployment/secrets.ts';
import { PROJECT } from '../../operations/environments.ts';
import { buildPages } from '../../src/web/build.ts';

let folder: string;
let miniflare: Miniflare;
const logLines: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'data-console-whole-'));
  await buildPages();
  const modulesRoot = join(folder, 'bundle');
  // `wrangler deploy --dry-run`, of this repository's wrangler.toml.
  const modules = await bundleWorker(PROJECT, modulesRoot);
  const { workerOptions }: { workerOptions: V4WorkerOptionsShape } = workerOptionsOf(join(PROJECT, 'wrangler.toml'));
  const { modulesRules: _rules, email: _email, ...bound } = workerOptions;
  const givenSecrets = { NEON_API_KEY: 'key', PLATFORM_ADMIN_TOKEN: 'token-of-the-tests' };
  const { secretsToSet: secrets } = makeMissingSecrets([], givenSecrets, Date.now());
  miniflare = new Miniflare(
    convertV4MiniflareOptions({
      log: new Log(LogLevel.NONE),
      cf: false,
      telemetry: { enabled: false },
      handleStructuredLogs: ({ message }) => void logLines.push(message),
      workers: [{ ...bound, bindings: { ...bound.bindings, ...secrets }, name: 'whole', modules, modulesRoot }],
    }),
  );
  await miniflare.ready;
}, 120_000);

afterAll(async () => {
  await miniflare?.dispose();
  await rm(folder, { recursive: true, force: true });
});

describe('the Worker that `wrangler deploy` builds from wrangler.toml', () => {
  it('answers requests', async () => {
    const answer = await miniflare.dispatchFetch('http://whole.test/health');
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ status: 'ok' })]);
  });

  it('consumes messages of its queues', async () => {
    const worker = await miniflare.getWorker('whole');
    const messages = [{ id: 'one', timestamp: new Date(), attempts: 1, body: { of: 'a test' } }];
    const { outcome } = await worker.queue('data-console-jobs-dead', messages);
    expect(outcome).toBe('ok');
    const files = await miniflare.getR2Bucket('FILES', 'whole');
    const { objects } = await files.list({ prefix: 'dead-letters/' });
    expect(objects.map(({ key }) => key)).toEqual([expect.stringContaining('data-console-jobs/')]);
  });

  it('runs on schedule', async () => {
    const worker = await miniflare.getWorker('whole');
    expect((await worker.scheduled({ cron: '* * * * *' })).outcome).toBe('ok');
    await expect.poll(() => logLines.join()).toContain('scheduled_ran');
  });
});
