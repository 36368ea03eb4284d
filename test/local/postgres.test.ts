import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalPostgres, startPostgres } from '../../local/postgres.ts';
import { isAlive } from '../../local/processes.ts';
import { Problem } from '../../operations/problem.ts';

describe('the local PostgreSQL', () => {
  const password = randomBytes(8).toString('hex');
  let parent: string;
  /** The folder of the tests that need no other one: the first start in it takes seconds. */
  let stateDir: string;
  const folders = new Set<string>();

  async function makeParent(mode: number): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'data-console-test-'));
    folders.add(folder);
    await chmod(folder, mode);
    return folder;
  }

  beforeAll(async () => {
    parent = await makeParent(0o711);
    stateDir = join(parent, 'postgres');
  });
  afterAll(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  async function start(folderOfState = stateDir): Promise<LocalPostgres> {
    const postgres = await startPostgres({ stateDir: folderOfState, password, isThrowaway: true });
    for (const folder of postgres.folders) folders.add(folder);
    return postgres;
  }

  async function runQuery(url: string, text: string): Promise<unknown[]> {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  it('keeps its data from one start to the next, and does not run after it was stopped', async () => {
    const first = await start();
    expect(await runQuery(first.url, 'SHOW server_version_num')).toEqual([
      { server_version_num: expect.stringMatching(/^18/) },
    ]);
    await runQuery(first.url, 'CREATE TABLE t AS SELECT 1 AS n');
    await first.stop();
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    const secondServer = await start();
    try {
      expect(await runQuery(secondServer.url, 'SELECT n FROM t')).toEqual([{ n: 1 }]);
    } finally {
      await secondServer.stop();
    }
  });

  it('is stopped while sessions are open', async () => {
    const postgres = await start();
    const client = new Client({ connectionString: postgres.url });
    client.on('error', () => undefined);
    await client.connect();
    const lostQuery = expect(client.query('SELECT pg_sleep(30)')).rejects.toThrow();
    await postgres.stop();
    await lostQuery;
    expect(isAlive(postgres.pid)).toBe(false);
  });

  it('starts in a private folder of root', async () => {
    const postgres = await start(join(await makeParent(0o700), 'postgres'));
    try {
      expect(await runQuery(postgres.url, 'SELECT 1 AS n')).toEqual([{ n: 1 }]);
    } finally {
      await postgres.stop();
    }
  });

  it('starts despite a pid file whose process id belongs to another process now', async () => {
    const first = await start();
    await first.stop();
    const data = join(first.folders.at(-1) as string, 'data');
    await writeFile(join(data, 'postmaster.pid'), `${process.pid}\n${data}\n`);
    const secondServer = await start();
    await secondServer.stop();
    expect(isAlive(process.pid)).toBe(true);
  });

  it('refuses a folder that is not a data folder of PostgreSQL', async () => {
    const foreignFolder = join(await makeParent(0o711), 'postgres');
    await mkdir(join(foreignFolder, 'data'), { recursive: true });
    await writeFile(join(foreignFolder, 'data', 'letter.txt'), 'dear');
    await expect(start(foreignFolder)).rejects.toThrow(/is not a PostgreSQL data folder/);
    expect(await readFile(join(foreignFolder, 'data', 'letter.txt'), 'utf8')).toBe('dear');
  });

  it('refuses another password than that of its first start', async () => {
    await (await start()).stop();
    await expect(startPostgres({ stateDir, password: 'another' })).rejects.toThrow(/password/);
  });

  // Last, since it breaks the data.
  it('explains what to do about data that it cannot use', async () => {
    const first = await start();
    await first.stop();
    const data = join(first.folders.at(-1) as string, 'data');
    await rm(join(data, 'global', 'pg_control'));
    const startError = await start().catch((error: unknown) => error);
    expect(startError).toBeInstanceOf(Problem);
    expect((startError as Error).message).toContain('pg_control');
    expect((startError as Error).message).toContain(`delete all of ${parent}`);
  });
});
