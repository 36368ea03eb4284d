import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PROJECT } from '../../operations/environments.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-scan-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Scans the folder as `npm run lint` scans the project. */
const scanFolder = () =>
  promisify(execFile)('npx', ['secretlint', '--secretlintrc', join(PROJECT, '.secretlintrc.json'), `${folder}/**/*`], {
    cwd: PROJECT,
  }).then(
    () => 'clean',
    ({ stdout }: { stdout: string }) => stdout,
  );

it('the search for secrets reports a connection string with a password, and no code without one', async () => {
  const file = join(folder, 'settings.ts');
  await writeFile(file, 'export const url = process.env.DATABASE_URL;\n');
  expect(await scanFolder()).toBe('clean');
  const url = ['postgres', '://owner:', 'hunter2hunter2', '@db.somewhere.net/main'].join('');
  await writeFile(file, `export const url = '${url}';\n`);
  expect(await scanFolder()).toContain('PostgreSQLConnection');
});
