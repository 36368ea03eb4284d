import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PROJECT } from '../../operations/environments.ts';

/** Runs an operator's command as `npm run` does. @returns what it wrote: where it failed, of what went wrong */
export const runCommand = (name: string, options: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return promisify(execFile)(process.execPath, [join(PROJECT, 'operations', `${name}.ts`), ...options], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, CLOUDFLARE_CF_FETCH_ENABLED: 'false', ...env },
  }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
  );
};
