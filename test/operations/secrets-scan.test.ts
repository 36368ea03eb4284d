import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it } from 'vitest';
import { PROJECT } from '../../operations/environments.ts';

const PLANTED = join(PROJECT, 'operations', 'planted-secret.ts');
afterEach(() => rm(PLANTED, { force: true }));

const scan = () =>
  promisify(execFile)('npx', ['secretlint', 'operations/**/*'], { cwd: PROJECT }).then(
    () => 'clean',
    ({ stdout }: { stdout: string }) => stdout,
  );

it('finds a connection string with a password among the files, and nothing without it', async () => {
  expect(await scan()).toBe('clean');
  const url = ['postgres', '://owner:', 'hunter2hunter2', '@db.somewhere.net/main'].join('');
  await writeFile(PLANTED, `export const url = '${url}';\n`);
  expect(await scan()).toContain('planted-secret.ts');
});
