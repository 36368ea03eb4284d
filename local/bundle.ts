import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { V4ModuleDefinition } from 'miniflare';
import { Problem } from '../operations/problem.ts';
import { divideWorkers, type Workers } from '../operations/workers.ts';
import { runWrangler } from '../operations/wrangler.ts';
import { buildPages } from '../src/web/build.ts';
import { findOrMakeBundle } from './bundle-cache.ts';

const TYPE_BY_EXTENSION: Record<string, V4ModuleDefinition['type']> = {
  js: 'ESModule',
  wasm: 'CompiledWasm',
  txt: 'Text',
  html: 'Text',
  sql: 'Text',
  bin: 'Data',
};

/** Bundled Worker as workerd runs it: its bindings by its configuration, and its code. */
export interface BundledWorker {
  /** File of the Worker's wrangler configuration. */
  config: string;
  modules: V4ModuleDefinition[];
  modulesRoot: string;
}

/** Entry modules that run the Workers under the platform's limits, of which workerd enforces only some. */
const LIMITED_ENTRIES: Record<keyof Workers, string> = {
  api: 'local/limits/api.ts',
  background: 'local/limits/background.ts',
};

/**
 * Bundles both Workers with wrangler, as a deployment does, and builds the pages. Their names are `api` and `background`.
 *
 * @param outDir a folder for their configurations, and for bundles that are not kept
 * @param entries replace those of a deployment; without them the Workers refuse what the platform refuses
 */
export async function bundleWorkers(
  projectDir: string,
  outDir: string,
  entries?: { [worker in keyof Workers]?: string | undefined },
): Promise<Record<keyof Workers, BundledWorker>> {
  const { experimental_readRawConfig: readRawConfig } = await import('wrangler');
  const { rawConfig } = readRawConfig({ config: join(projectDir, 'wrangler.toml') });
  const workers = divideWorkers({ ...rawConfig, name: 'api' }, projectDir);
  await mkdir(outDir, { recursive: true });
  const bundle = async (worker: keyof Workers): Promise<BundledWorker> => {
    const config = join(outDir, `${worker}.json`);
    const text = JSON.stringify(workers[worker]);
    await writeFile(config, text);
    const entry = entries?.[worker];
    const limitedEntry = entries ? undefined : join(projectDir, LIMITED_ENTRIES[worker]);
    const bundleInto = (folder: string) => bundleWorker(projectDir, folder, entry ?? limitedEntry, config);
    // What another entry imports is not among the sources.
    const modulesRoot = entry
      ? join(outDir, worker)
      : await findOrMakeBundle(projectDir, `${limitedEntry}${text}`, bundleInto);
    if (entry) await bundleInto(modulesRoot);
    return { config, modulesRoot, modules: await listModules(modulesRoot) };
  };
  const [api, background] = await Promise.all([bundle('api'), bundle('background'), buildPages()]);
  return { api, background };
}

/** Bundles one Worker. @param entry replaces its configuration's. @returns the modules, the entry first */
export async function bundleWorker(
  projectDir: string,
  outDir: string,
  entry?: string,
  config = join(projectDir, 'wrangler.toml'),
): Promise<V4ModuleDefinition[]> {
  await rm(outDir, { recursive: true, force: true });
  const options = ['deploy', ...(entry ? [entry] : []), '--dry-run', '--outdir', outDir, '--config', config];
  try {
    await runWrangler(options, { cwd: projectDir, env: { WRANGLER_LOG_PATH: `${outDir}.log` } });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Problem(`The Worker cannot be bundled; "npm run check" says more.\n${message}`, { cause });
  }
  return await listModules(outDir);
}

async function listModules(folder: string): Promise<V4ModuleDefinition[]> {
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
