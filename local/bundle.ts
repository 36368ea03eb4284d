import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { V4ModuleDefinition } from 'miniflare';
import { Problem } from '../operations/problem.ts';
import { wrangler } from '../operations/wrangler.ts';

const TYPE_BY_EXTENSION: Record<string, V4ModuleDefinition['type']> = {
  js: 'ESModule',
  wasm: 'CompiledWasm',
  txt: 'Text',
  html: 'Text',
  sql: 'Text',
  bin: 'Data',
};

/**
 * Bundles the Worker of `projectDir` into `outDir` with wrangler, exactly as a deployment does.
 *
 * @param entry replaces the entry of `wrangler.toml`
 * @returns the modules of the bundle, the entry first
 */
export async function bundleWorker(projectDir: string, outDir: string, entry?: string): Promise<V4ModuleDefinition[]> {
  await rm(outDir, { recursive: true, force: true });
  const options = ['deploy', ...(entry ? [entry] : []), '--dry-run', '--outdir', outDir];
  try {
    await wrangler(options, { cwd: projectDir, env: { WRANGLER_LOG_PATH: `${outDir}.log` } });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Problem(`The Worker cannot be bundled; "npm run check" says more.\n${message}`, { cause });
  }
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
