import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unstable_readConfig as readConfig } from 'wrangler';
import { openFiles } from '../../operations/files.ts';
import { callCommand, runCommand } from '../operations/command.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dead-letters-'));
  process.env.LOCAL_STATE_DIR = folder;
  await mkdir(join(folder, 'worker', 'storage'), { recursive: true });
  const files = await openFiles(undefined);
  for (const id of ['m-1', 'm-2', 'm-3']) {
    const letter = {
      id,
      queue: 'data-console-jobs',
      body: { type: 'upload.load' },
      attempts: 6,
      diedAt: 1769860800000,
    };
    await files.put(`dead-letters/data-console-jobs/1769860790000-${id}.json`, JSON.stringify(letter));
  }
  await files.close();
});
afterAll(async () => {
  delete process.env.LOCAL_STATE_DIR;
  await rm(folder, { recursive: true, force: true });
});

const runDeadLetters = async (...options: string[]): Promise<string> =>
  (await callCommand('dead-letters', options, { LOCAL_STATE_DIR: folder })).output;

it('npm run dead-letters lists dead letters, and has one or all of them sent again', async () => {
  const deadLetterListing = await runCommand('dead-letters', ['list'], { LOCAL_STATE_DIR: folder });
  expect(deadLetterListing.output).toContain(
    'm-1  2026-01-31T12:00:00.000Z  data-console-jobs  6 attempts  dead\n  {"type":"upload.load"}',
  );
  expect(await runDeadLetters('replay', '--id', 'm-2')).toBe('1 message will be sent again within a minute.\n');
  expect(await runDeadLetters('list')).toMatch(/m-2 .* will be sent again/);
  expect(await runDeadLetters('replay')).toBe('2 messages will be sent again within a minute.\n');
  expect(await runDeadLetters('replay')).toBe('0 messages will be sent again within a minute.\n');
  const files = await openFiles(undefined);
  expect(await files.list('dead-letters-wanted/')).toHaveLength(3);
  await files.close();
});

it.each([[[]], [['burn']], [['replay', '--id', "x' OR 1=1"]], [['list', '--id', 'm-1']]])(
  'npm run dead-letters prints its usage when called with %j',
  async (options) => {
    const commandResult = await callCommand('dead-letters', options);
    expect(commandResult).toEqual({ code: 1, output: expect.stringContaining('Usage') });
  },
);

it('each queue in wrangler.toml has a dead-letter queue, which has a consumer', () => {
  const { queues } = readConfig({ config: join(PROJECT, 'wrangler.toml') });
  const consumers: { queue: string; dead_letter_queue?: string }[] = queues.consumers ?? [];
  const producers: { queue: string }[] = queues.producers ?? [];
  const consumedQueues = consumers.map(({ queue }) => queue);
  for (const { queue, dead_letter_queue } of consumers) {
    if (queue.endsWith('-dead')) continue;
    expect(dead_letter_queue).toBe(`${queue}-dead`);
    expect(consumedQueues).toContain(dead_letter_queue);
  }
  expect(new Set(producers.map(({ queue }) => queue))).toEqual(
    new Set(consumedQueues.filter((queue) => !queue.endsWith('-dead'))),
  );
});
