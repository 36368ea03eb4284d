import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LocalNeon, startLocalNeon } from '../../local/neon/server.ts';
import type { NeonPlan } from '../../operations/deployment/neon.ts';
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

/** Neon's management API for those who only look: no PostgreSQL is behind it. The person's key is `person`. */
export const aNeonAccount = (
  stateDir: string,
  options: { organizationKey?: string; plan?: NeonPlan } = {},
): Promise<LocalNeon> =>
  startLocalNeon({
    stateDir,
    apiKey: 'person',
    postgres: { host: '127.0.0.1', port: 9, url: 'postgres://nobody' },
    ...options,
  });
