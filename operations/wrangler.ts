import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { PROJECT } from './environments.ts';
import { Problem } from './problem.ts';

/** Runs wrangler without prompts, and returns its output. @throws Problem with its output, if it fails */
export async function runWrangler(
  options: string[],
  { env = {}, cwd = PROJECT }: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<string> {
  const script = join(dirname(createRequire(import.meta.url).resolve('wrangler/package.json')), 'bin', 'wrangler.js');
  const child = spawn(process.execPath, [script, ...options], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CI: 'true', NO_COLOR: '1', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Problem(`wrangler ${options.slice(0, 3).join(' ')} failed:\n${output.trim()}`);
  return output;
}
