import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { type LocalNeon, startLocalNeon } from '../../local/neon/server.ts';
import type { NeonPlan } from '../../operations/deployment/neon.ts';
import { PROJECT } from '../../operations/environments.ts';

/** The exit code of a command and its output; if it failed, only its error output. */
export interface CommandResult {
  code: number;
  output: string;
}

const getScript = (name: string): string => join(PROJECT, 'operations', `${name}.ts`);

/** Returns the environment of a command, without the variables of this process. */
const makeEnvironment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE, CLOUDFLARE_CF_FETCH_ENABLED: 'false', ...env };
};

/** Runs an operator's command as `npm run` does, in a process of its own. */
export const runCommand = (
  name: string,
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CommandResult> =>
  promisify(execFile)(process.execPath, [getScript(name), ...options], { env: makeEnvironment(env) }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
  );

let callCount = 0;

/**
 * Runs an operator's command in this process, where wrangler and the runtime are loaded once; a process of its own takes seconds.
 * One command at a time. Each command is also run by `runCommand`, which shows that its process ends.
 * @param printedLines gets what the command prints, also if it fails
 */
export async function callCommand(
  name: string,
  options: readonly string[],
  env: NodeJS.ProcessEnv = {},
  printedLines: string[] = [],
): Promise<CommandResult> {
  const { argv, env: ownEnv, exitCode } = process;
  const lines = { log: printedLines, error: [] as string[] };
  const spies = (['log', 'error'] as const).map((kind) =>
    vi.spyOn(console, kind).mockImplementation((line: string) => void lines[kind].push(`${line}\n`)),
  );
  process.argv = [process.execPath, getScript(name), ...options];
  process.env = makeEnvironment(env);
  process.exitCode = 0;
  callCount += 1;
  try {
    // By another address each time, so that its module runs anew; what it imports stays.
    await import(/* @vite-ignore */ `${getScript(name)}?call=${callCount}`);
    const code = Number(process.exitCode);
    return { code, output: lines[code === 0 ? 'log' : 'error'].join('') };
  } finally {
    for (const spy of spies) spy.mockRestore();
    Object.assign(process, { argv, env: ownEnv, exitCode });
  }
}

/**
 * Starts Neon's management API without PostgreSQL behind it, for tests that only read it. The API key of its only person is
 * `person`.
 */
export const startNeonAccount = (
  stateDir: string,
  options: { organizationKey?: string; plan?: NeonPlan } = {},
): Promise<LocalNeon> =>
  startLocalNeon({
    stateDir,
    apiKey: 'person',
    postgres: { host: '127.0.0.1', port: 9, url: 'postgres://nobody' },
    ...options,
  });
