import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = join(import.meta.dirname, '..', '..');

/** Lists the shell commands in one section of a document, in their order. */
export async function listCommands(document: string, section: string): Promise<string> {
  const [, text] = (await readFile(join(PROJECT, document), 'utf8')).split(`\n## ${section}\n`);
  const sectionText = text?.split('\n## ')[0] ?? '';
  return [...sectionText.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands).join('\n');
}

/**
 * Runs commands of a document like a newcomer: in the project's folder, with `stateDir` as the state folder. The first command
 * that fails ends the run. @returns the output of the commands
 */
export async function runCommands(commands: string, stateDir: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-readme-'));
  try {
    await symlink(stateDir, join(folder, '.local'));
    await symlink(join(PROJECT, 'examples'), join(folder, 'examples'));
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    const script = `set -euo pipefail\n${commands}`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: folder, env, timeout: 600_000 }).catch(
      ({ message, stdout: output }) => {
        throw new Error(`${message}\nIt wrote at last: ${output?.slice(-2_000)}`);
      },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
