import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { experimental_readRawConfig as readRawConfig, type Unstable_RawConfig as WranglerConfig } from 'wrangler';
import { ENVIRONMENT_NAMES, PROJECT, readEnvironment } from '../../operations/environments.ts';
import { OBSERVABILITY_WITHOUT_ADDRESSES } from './observability.ts';

const { rawConfig } = readRawConfig({ config: join(PROJECT, 'wrangler.toml') });

/** Returns the configuration of every Worker that is deployed, by name. */
async function listConfigurations(): Promise<[string, WranglerConfig][]> {
  const location = { hint: null, jurisdiction: null, neon_region: null };
  const environments = await Promise.all(
    ENVIRONMENT_NAMES.map((name) => readEnvironment(name, { domain: null, location, vars: {} })),
  );
  const workers = environments.flatMap(({ name, workers }) =>
    Object.entries(workers).map(([worker, config]): [string, WranglerConfig] => [`${worker} of ${name}`, config]),
  );
  return [['wrangler.toml', rawConfig], ...workers];
}

describe('the deployed configuration', () => {
  it('keeps no URL of a request in logs, traces or issues of the platform', async () => {
    const configurations = await listConfigurations();
    expect(configurations.map(([name]) => name)).toEqual([
      'wrangler.toml',
      ...ENVIRONMENT_NAMES.flatMap((name) => [`api of ${name}`, `background of ${name}`]),
    ]);
    expect(configurations.map(([name, { observability }]) => [name, observability])).toEqual(
      configurations.map(([name]) => [name, expect.objectContaining(nestParts(OBSERVABILITY_WITHOUT_ADDRESSES))]),
    );
  });

  it('has no wrangler environment, tail consumer or logpush', () => {
    expect(rawConfig).not.toHaveProperty('env');
    expect(rawConfig).not.toHaveProperty('tail_consumers');
    expect(rawConfig).not.toHaveProperty('streaming_tail_consumers');
    expect(rawConfig).not.toHaveProperty('logpush');
  });
});

const nestParts = (parts: Record<string, object>) =>
  Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, expect.objectContaining(part)]));
