import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copySecrets } from '../../operations/deployment/secrets.ts';
import { writeSecretFile } from '../../operations/secret-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it.each([
  [
    'a file with copied secrets',
    '',
    (file: string) => copySecrets(file, { KEY: 'secret' }),
    '{"old":"one"}\n{"KEY":"secret"}\n',
  ],
  ['a file with written secrets', '.new', (file: string) => writeSecretFile(file, 'secret\n'), 'secret\n'],
])(
  '%s can be read by its owner only, even if it replaces a file with a wider mode',
  async (_, fileSuffix, write, text) => {
    const file = join(folder, 'safe');
    await writeFile(`${file}${fileSuffix}`, '{"old":"one"}\n', { mode: 0o644 });
    await write(file);
    expect([(await stat(file)).mode & 0o777, await readFile(file, 'utf8')]).toEqual([0o600, text]);
  },
);
