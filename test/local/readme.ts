import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = join(import.meta.dirname, '..', '..');

/** The commands for a shell in one section of a document, in their order. */
export async function listCommands(document: string, section: string): Promise<string> {
  const [, text] = (await readFile(join(PROJECT, document), 'utf8')).split(`\n## ${section}\n`);
  const own = text?.split('\n## ')[0] ?? '';
  return [...own.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands).join('\n');
}

/**
 * Runs commands of a document as a newcomer would: in the project's folder, whose state is `stateDir`. The first that fails
 * ends it.
 * @returns what they wrote
 */
export async function runCommands(commands: string, stateDir: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-readme-'));
  try {
    await symlink(stateDir, join(folder, '.local'));
    await symlink(join(PROJECT, 'examples'), join(folder, 'examples'));
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const script = `set -euo pipefail\n${commands}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env, timeout: 600_000 }).catch(
      ({ message, stdout: written }) => {
        throw new Error(`${message}\nIt wrote at last: ${written?.slice(-2_000)}`);
      },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
