import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CloudflareAccount } from '../../operations/cloudflare.ts';
import { type LocalCloudflare, startCloudflare } from './cloudflare.ts';
import { callCommand, runCommand } from './command.ts';

let cloudflare: LocalCloudflare;
let folder: string;
beforeAll(async () => {
  cloudflare = await startCloudflare();
  folder = await mkdtemp(join(tmpdir(), 'commands-'));
});
afterAll(async () => {
  await cloudflare.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the environment with which a command works on the test account. */
const makeEnv = () => ({
  CLOUDFLARE_API_BASE_URL: cloudflare.baseUrl,
  CLOUDFLARE_API_TOKEN: cloudflare.token,
  CLOUDFLARE_ACCOUNT_ID: cloudflare.accountId,
});
const runDeployedCommand = (name: string, ...options: string[]) => callCommand(name, options, makeEnv());

describe('npm run restore', { timeout: 120_000 }, () => {
  const DATABASE_NAME = 'data-console-staging-control';
  let id: string;
  const createAccount = () => new CloudflareAccount(cloudflare);
  const readRows = () => createAccount().query<{ n: number }>(id, 'SELECT n FROM kept ORDER BY n', []);

  beforeEach(async () => {
    cloudflare.databases.delete(DATABASE_NAME);
    id = await createAccount().createDatabase(DATABASE_NAME, { hint: 'weur', jurisdiction: null });
    await createAccount().query(id, 'CREATE TABLE kept (n INTEGER)', []);
    await createAccount().query(id, 'INSERT INTO kept VALUES (1)', []);
  });

  it('restores the control database of the environment to a time, and prints how to undo it', async () => {
    await sleep(5);
    const moment = new Date().toISOString();
    await sleep(5);
    await createAccount().query(id, 'DELETE FROM kept', []);
    await createAccount().query(id, 'INSERT INTO kept VALUES (2)', []);

    const restoreResult = await runCommand('restore', ['--env', 'staging', '--to', moment], makeEnv());
    expect(restoreResult).toEqual({
      code: 0,
      output: expect.stringContaining(`${DATABASE_NAME} is as it was at ${moment}`),
    });
    expect(await readRows()).toEqual([{ n: 1 }]);

    const [, back = ''] = /npm run restore -- (.*)$/m.exec(restoreResult.output) ?? [];
    expect((await runDeployedCommand('restore', ...back.split(' '))).code).toBe(0);
    expect(await readRows()).toEqual([{ n: 2 }]);
    expect(cloudflare.unansweredRequests).toEqual([]);
  });

  it('prints how to undo a restore whose first answer was lost', async () => {
    await sleep(5);
    const moment = new Date().toISOString();
    await sleep(5);
    await createAccount().query(id, 'INSERT INTO kept VALUES (2)', []);
    cloudflare.answersLostOnce.add(`POST /d1/database/${id}/time_travel/restore`);
    const { output } = await runDeployedCommand('restore', '--env', 'staging', '--to', moment);
    expect(await readRows()).toEqual([{ n: 1 }]);

    const [, back = ''] = /npm run restore -- (.*)$/m.exec(output) ?? [];
    expect((await runDeployedCommand('restore', ...back.split(' '))).code).toBe(0);
    expect(await readRows()).toEqual([{ n: 1 }, { n: 2 }]);
    expect(cloudflare.answersLostOnce.size).toBe(0);
  });

  it('prints how to undo a restore before it begins: its answer may never come', async () => {
    await sleep(5);
    const moment = new Date().toISOString();
    await sleep(5);
    await createAccount().query(id, 'INSERT INTO kept VALUES (2)', []);
    const bookmark = await createAccount().readBookmark(id);
    const restoreRequest = `POST /d1/database/${id}/time_travel/restore`;
    cloudflare.refusedRequests.push(restoreRequest);
    const printedLines: string[] = [];
    const options = ['--env', 'staging', '--to', moment];
    expect((await callCommand('restore', options, makeEnv(), printedLines)).code).toBe(1);
    cloudflare.refusedRequests.pop();
    expect(printedLines).toContain(`  npm run restore -- --env staging --to ${bookmark}\n`);
  });

  it.each([
    [['--env', 'staging'], 'Usage: npm run restore'],
    [['--env', 'staging', '--to', 'yesterday'], '"yesterday" is neither a time such as'],
    [['--env', 'staging', '--to', '2026-01-31'], 'is neither a time such as'],
    [['--env', 'staging', '--to', '2999-01-31T12:00:00Z'], 'is yet to come'],
    [['--env', 'staging', '--to', '2020-01-31T12:00:00Z'], 'more than 30 days ago'],
    [['--env', 'staging', '--to', `00000000-00000000-00000000-${'0'.repeat(32)}`], 'invalid bookmark [7500]'],
    [['--env', 'production', '--to', new Date().toISOString()], 'There is no database data-console-control yet'],
  ])('reports the problem of the options %j, and restores nothing', async (options, message) => {
    const rowsBefore = await readRows();
    expect(await runDeployedCommand('restore', ...options)).toEqual({
      code: 1,
      output: expect.stringContaining(message),
    });
    expect(await readRows()).toEqual(rowsBefore);
  });
});

describe('npm run dead-letters', () => {
  const BUCKET_NAME = 'data-console-staging-files';
  const LETTER_KEY = 'dead-letters/jobs/1767225600000-a.json';
  const LETTER_PATH = `/r2/buckets/${BUCKET_NAME}/objects/${LETTER_KEY}`;
  const DEAD_LETTER = { id: 'a', queue: 'jobs', body: { kind: 'test' }, attempts: 5, diedAt: 1767225600000 };

  beforeAll(() => {
    cloudflare.buckets.set(BUCKET_NAME, {});
    cloudflare.objects.set(`${BUCKET_NAME}/${LETTER_KEY}`, JSON.stringify(DEAD_LETTER));
  });

  it('retries a file that it could not read at once', async () => {
    cloudflare.requestsFailingOnce.add(`GET ${LETTER_PATH}`);
    const deadLetterListing = await runDeployedCommand('dead-letters', 'list', '--env', 'staging');
    expect(deadLetterListing).toEqual({
      code: 0,
      output: expect.stringContaining('a  2026-01-01T00:00:00.000Z  jobs  5 attempts'),
    });
    expect(cloudflare.unansweredRequests).toEqual([]);
  });

  it('says what to check when the token may not read files', async () => {
    cloudflare.refusedRequests.push(`GET ${LETTER_PATH}`);
    const deadLetterListing = await runDeployedCommand('dead-letters', 'list', '--env', 'staging');
    expect(deadLetterListing).toEqual({
      code: 1,
      output: expect.stringMatching(
        /refused GET .* with 403: Authentication error \[10000\].*Check what CLOUDFLARE_API_TOKEN/,
      ),
    });
  });
});

it('npm run rotate-keys changes nothing after a rollback, and says which commit to deploy first', async () => {
  const secrets = new Map([['EMBED_SECRETS', 'a secret']]);
  const worker = { scriptTag: 't', metadata: { bindings: [] }, secrets, schedules: [], uploadCount: 2 };
  cloudflare.workers.set('data-console-staging-api', { ...worker, rollbackVersion: '0.1.0+d7363db' });
  const secretCopyPath = join(folder, 'safe');
  for (const options of [
    ['embed', '--settle', '0', '--copy-secrets-to', secretCopyPath],
    ['remove', 'embed', '1', '--force'],
  ]) {
    const { code, output } = await runDeployedCommand('rotate-keys', ...options, '--env', 'staging');
    expect(code).toBe(1);
    expect(output).toContain('The version that runs (0.1.0+d7363db) is not the one that was uploaded last');
    expect(output).toContain('git checkout d7363db && npm ci && npm run deploy -- --env staging');
  }
  // No secret was generated.
  await expect(readFile(secretCopyPath)).rejects.toThrow('ENOENT');
  expect([...secrets.keys()]).toEqual(['EMBED_SECRETS']);
  expect(cloudflare.unansweredRequests).toEqual([]);
}, 60_000);
