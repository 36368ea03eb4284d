import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { V4ModuleDefinition } from 'miniflare';
import { LocalProblem } from './local-problem.ts';

const TYPE_BY_EXTENSION: Record<string, V4ModuleDefinition['type']> = {
  js: 'ESModule',
  wasm: 'CompiledWasm',
  txt: 'Text',
  html: 'Text',
  sql: 'Text',
  bin: 'Data',
};

/**
 * Bundles the Worker of `projectDir` with wrangler, exactly as a deployment would, into `outDir`.
 *
 * @param entry another entry than that of `wrangler.toml`
 * @returns the modules of the bundle, the entry first
 */
export async function bundleWorker(projectDir: string, outDir: string, entry?: string): Promise<V4ModuleDefinition[]> {
  await rm(outDir, { recursive: true, force: true });
  const packageFile = createRequire(import.meta.url).resolve('wrangler/package.json');
  const wrangler = join(dirname(packageFile), 'bin', 'wrangler.js');
  const child = spawn(
    process.execPath,
    [wrangler, 'deploy', ...(entry ? [entry] : []), '--dry-run', '--outdir', outDir],
    {
      cwd: projectDir,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false', WRANGLER_LOG_PATH: `${outDir}.log`, NO_COLOR: '1' },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new LocalProblem(`The Worker cannot be bundled; "npm run check" says more.\n${output.trim()}`);
  return await modulesIn(outDir);
}

async function modulesIn(folder: string): Promise<V4ModuleDefinition[]> {
  const modules: V4ModuleDefinition[] = [];
  for (const name of await readdir(folder)) {
    const type = TYPE_BY_EXTENSION[name.slice(name.lastIndexOf('.') + 1)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const module = { type, path, contents: await readFile(path) };
    if (type === 'ESModule') modules.unshift(module);
    else modules.push(module);
  }
  return modules;
}
