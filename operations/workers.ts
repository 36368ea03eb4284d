import { join } from 'node:path';
import type { Unstable_RawConfig as WranglerConfig } from 'wrangler';

/** Entry module of the API's Worker; the entry in wrangler.toml combines both Workers. */
const API_ENTRY = 'src/api.ts';
const BACKGROUND_ENTRY = 'src/background.ts';

/** Configurations of the two Workers, each in wrangler's form. */
export interface Workers {
  /** Configuration of the Worker that answers requests, and holds the Durable Objects. */
  api: WranglerConfig;
  /** Configuration of the Worker that consumes the queues and runs on schedule. */
  background: WranglerConfig;
}

/**
 * Divides the system that wrangler.toml describes between its two Workers. Bindings to storage and queues are those of both, so
 * that they never differ. Paths become absolute: the configurations are written into other folders than wrangler.toml's.
 */
export function divideWorkers(wholeConfig: WranglerConfig, projectDir: string): Workers {
  const { name: apiName = '', queues, triggers, ...rest } = makePathsAbsolute(wholeConfig, projectDir);
  // wrangler leaves the schedule of a Worker as it is unless the list is there.
  const api = {
    ...rest,
    name: apiName,
    main: join(projectDir, API_ENTRY),
    queues: { producers: queues?.producers ?? [] },
    triggers: { crons: [] },
  };
  const { assets: _pages, build: _build, migrations: _classes, routes: _routes, vars: _vars, ...shared } = rest;
  const background: WranglerConfig = {
    ...shared,
    name: apiName.replace(/api$/, 'background'),
    main: join(projectDir, BACKGROUND_ENTRY),
    // Nobody sends it requests.
    workers_dev: false,
    preview_urls: false,
    ...(queues && { queues }),
    ...(triggers && { triggers }),
    durable_objects: {
      bindings: (rest.durable_objects?.bindings ?? []).map((binding) => ({ ...binding, script_name: apiName })),
    },
    services: [{ binding: 'API_VARIABLES', service: apiName, entrypoint: 'Variables' }],
  };
  return { api, background };
}

function makePathsAbsolute(config: WranglerConfig, projectDir: string): WranglerConfig {
  const toAbsolutePath = (path: string | undefined) => join(projectDir, path ?? '.');
  return {
    ...config,
    main: toAbsolutePath(config.main),
    build: { ...config.build, cwd: projectDir },
    ...(config.assets && { assets: { ...config.assets, directory: toAbsolutePath(config.assets.directory) } }),
    d1_databases: (config.d1_databases ?? []).map((database) => ({
      ...database,
      migrations_dir: toAbsolutePath(database.migrations_dir),
    })),
  };
}
