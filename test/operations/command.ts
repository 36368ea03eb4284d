import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from '../../operations/environments.ts';

/** Runs an operator's command as `npm run` does. @returns what it wrote: where it failed, of what went wrong */
export const runCommand = (name: string, options: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  promisify(execFile)(process.execPath, [join(PROJECT, 'operations', `${name}.ts`), ...options], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, CLOUDFLARE_CF_FETCH_ENABLED: 'false', ...env },
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
  );
