import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Unstable_RawConfig as WranglerConfig } from 'wrangler';
import { z } from 'zod';
import { Problem } from './problem.ts';
import { divideWorkers, type Workers } from './workers.ts';

export const PROJECT = resolve(import.meta.dirname, '..');

export const ENVIRONMENT_NAMES = ['staging', 'production'] as const;
export type EnvironmentName = (typeof ENVIRONMENT_NAMES)[number];

/** Cloudflare's locations of D1 databases and R2 buckets. */
const LOCATION_HINTS = ['wnam', 'enam', 'weur', 'eeur', 'apac', 'oc'] as const;
export const JURISDICTIONS = ['eu', 'fedramp'] as const;

/** Location of the stored data. It cannot be changed after the first deployment. */
const locationSchema = z.strictObject({
  /** Place where D1 databases and R2 buckets are created, if possible. Ignored with a jurisdiction. */
  hint: z.enum(LOCATION_HINTS).nullable(),
  /** Jurisdiction that the data of D1, R2 and Durable Objects must not leave. */
  jurisdiction: z.enum(JURISDICTIONS).nullable(),
  /** Region of companies' databases at Neon, such as `aws-eu-central-1`; the Worker runs near it. */
  neon_region: z.string().min(1).nullable(),
});

/** Settings that differ between environments: `operations/environments.json`. */
const settings = z.strictObject({
  /** The API's host, such as `api.example.com`, in a zone of the account; null for an address below workers.dev. */
  domain: z.string().nullable(),
  location: locationSchema,
  /** Variables of the Worker, which replace those of wrangler.toml. */
  vars: z.record(z.string(), z.string()),
});
export type EnvironmentSettings = z.output<typeof settings>;

/** Environment to deploy. Names are those of wrangler.toml; in staging, `staging-` follows `data-console-`. */
export interface Environment {
  name: EnvironmentName;
  settings: EnvironmentSettings;
  /** Variables that the API's Worker is deployed with: the settings' variables override those of wrangler.toml. */
  vars: Record<string, string>;
  /** Name of the API's Worker, which holds the secrets of both Workers. */
  workerName: string;
  /** Names of the databases by binding. */
  databaseNames: Record<'CONTROL_DB', string>;
  /** Name of the former database with the records of all companies. */
  formerDatabase: string;
  bucketNames: string[];
  /** Names of all queues, dead letter queues included. */
  queueNames: string[];
  /** The configurations for wrangler, without the ids of the databases. */
  workers: Workers;
}

/** Parses the name of an environment. @throws Problem that lists the environments */
export function parseEnvironmentName(typedName: string): EnvironmentName {
  const name = ENVIRONMENT_NAMES.find((knownName) => knownName === typedName);
  if (!name)
    throw new Problem(`There is no environment "${typedName}": say --env ${ENVIRONMENT_NAMES.join(' or --env ')}.`);
  return name;
}

/** Reads an environment from wrangler.toml and its settings. @throws Problem that says what is wrong in the file */
export async function readEnvironment(
  name: EnvironmentName,
  givenSettings?: EnvironmentSettings,
): Promise<Environment> {
  const chosenSettings = givenSettings ?? readSettings(name);
  // Loading wrangler takes a second; a misspelt command does not wait for it.
  const { experimental_readRawConfig: readRawConfig } = await import('wrangler');
  const { rawConfig } = readRawConfig({ config: join(PROJECT, 'wrangler.toml') });
  const config: WranglerConfig = name === 'production' ? rawConfig : insertEnvironmentName(rawConfig, name);
  const databases = config.d1_databases ?? [];
  const { location, domain } = chosenSettings;
  const jurisdiction = location.jurisdiction ?? undefined;
  const findDatabaseName = (binding: string) =>
    databases.find((configuredDatabase) => configuredDatabase.binding === binding)?.database_name ?? binding;
  // The Worker reads texts only.
  const vars = { ...config.vars, ...makeLocationVars(location), ...chosenSettings.vars } as Record<string, string>;
  return {
    name,
    settings: chosenSettings,
    vars,
    workerName: config.name ?? '',
    databaseNames: { CONTROL_DB: findDatabaseName('CONTROL_DB') },
    formerDatabase: findDatabaseName('CONTROL_DB').replace(/control$/, 'audit'),
    bucketNames: (config.r2_buckets ?? []).flatMap(({ bucket_name }) => bucket_name ?? []),
    queueNames: (config.queues?.consumers ?? []).map(({ queue }) => queue),
    workers: divideWorkers(
      {
        ...config,
        vars,
        r2_buckets: (config.r2_buckets ?? []).map((bucket) => ({ ...bucket, ...(jurisdiction && { jurisdiction }) })),
        placement: choosePlacement(location.neon_region),
        ...(domain !== null && { routes: [{ pattern: domain, custom_domain: true }], workers_dev: false }),
      },
      PROJECT,
    ),
  };
}

/** Makes the Worker's variables about its location. */
const makeLocationVars = ({ jurisdiction, neon_region }: EnvironmentSettings['location']): Record<string, string> => ({
  ...(jurisdiction !== null && { DATA_JURISDICTION: jurisdiction }),
  ...(neon_region !== null && { NEON_REGION: neon_region }),
});

/**
 * Chooses the Worker's placement near the company databases if Cloudflare knows the region: a request queries them several times.
 */
function choosePlacement(neonRegion: string | null): NonNullable<WranglerConfig['placement']> {
  const [, cloud, region] = /^(aws|gcp)-(.+)$/.exec(neonRegion ?? '') ?? [];
  return cloud ? { region: `${cloud}:${region}` } : { mode: 'smart' };
}

/** Lists the settings that have to be filled in before a deployment. */
export function listPlaceholders({ name, vars, settings: { location } }: Environment): string[] {
  const file = 'operations/environments.json';
  const addresses = Object.entries(vars)
    .filter(([, value]) => /\bexample\.com\b/.test(value))
    .map(([variable]) => `give ${variable} of ${name} in ${file} an address of your own`);
  const locationProblems = [
    (location.hint ?? location.jurisdiction)
      ? undefined
      : `say in "location" of ${name} in ${file} where data is kept: "hint" is one of ${LOCATION_HINTS.join(', ')}, or "jurisdiction" ` +
        `one of ${JURISDICTIONS.join(', ')} (it cannot be changed later)`,
    location.neon_region
      ? undefined
      : `say in "location" of ${name} in ${file} in which "neon_region" companies' databases are made, ` +
        'such as aws-eu-central-1 (https://neon.com/docs/introduction/regions; it cannot be changed later)',
  ];
  return [...addresses, ...locationProblems.filter((problem) => problem !== undefined)];
}

/** Lists warnings about settings that are allowed but seldom intended. */
export const listWarnings = ({ name, settings: { domain } }: Environment): string[] =>
  name === 'production' && domain === null
    ? [
        'production has no "domain" in operations/environments.json: an address below workers.dev belongs to no zone, so ' +
          'there is no firewall before it, results are not cached, and links that people keep change with a later domain.',
      ]
    : [];

function readSettings(name: EnvironmentName): EnvironmentSettings {
  const file = join(PROJECT, 'operations', 'environments.json');
  const parsedFile = z.record(z.string(), settings).safeParse(JSON.parse(readFileSync(file, 'utf8')));
  const foundSettings = parsedFile.data?.[name];
  if (!foundSettings)
    throw new Problem(`${file} must hold "${name}": { "domain": …, "vars": { … } }. ${parsedFile.error ?? ''}`.trim());
  return foundSettings;
}

/** Replaces `data-console-jobs` by `data-console-staging-jobs`, and so on for every name. */
const insertEnvironmentName = (config: WranglerConfig, name: EnvironmentName): WranglerConfig =>
  JSON.parse(JSON.stringify(config).replaceAll('"data-console-', `"data-console-${name}-`));
