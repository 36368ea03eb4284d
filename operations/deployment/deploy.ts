import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CloudflareCredentials } from '../cloudflare.ts';
import { CloudflareAccount } from '../cloudflare.ts';
import { type Environment, listPlaceholders, listWarnings, PROJECT } from '../environments.ts';
import { Problem } from '../problem.ts';
import type { Workers } from '../workers.ts';
import { runWrangler } from '../wrangler.ts';
import { moveFormerRecords } from './former-records.ts';
import { waitForHealth } from './health.ts';
import { checkServices } from './preflight.ts';
import { copySecrets, makeMissingSecrets } from './secrets.ts';

const HEALTH_TIMEOUT_MS = 180_000;

/** Input of a deployment. */
export interface Deployment {
  environment: Environment;
  /** Version that `/health` answers afterwards. */
  version: string;
  /** Environment variables with secrets that are not generated. */
  env: NodeJS.ProcessEnv;
  /** File to which generated secrets are appended. */
  copyTo?: string;
  report(line: string): void;
  healthTimeoutMs?: number;
}

/** A step of a deployment: its purpose, and the function that does it and reports the result. */
interface DeploymentStep {
  title: string;
  run(): Promise<string>;
}

/** Deploys an environment, from any state. Every step may be repeated. @throws Problem that says what to do next */
export async function deploy(deployment: Deployment, credentials: CloudflareCredentials): Promise<void> {
  refusePlaceholders(deployment.environment);
  for (const { title, run } of listSteps(deployment, credentials)) {
    deployment.report(title);
    deployment.report(`    ${await run()}`);
  }
}

/** Describes the steps of `deploy`, and bundles the Workers as it would, without sending any request. */
export async function describeDeployment(deployment: Deployment): Promise<void> {
  const { environment, report } = deployment;
  const noCredentials = { baseUrl: '', token: '', accountId: '' };
  for (const { title } of listSteps(deployment, noCredentials)) report(title);
  const configs = await writeConfigs(environment, { CONTROL_DB: 'rehearsed' }, {});
  const folder = await mkdtemp(join(tmpdir(), 'data-console-rehearsal-'));
  try {
    for (const config of Object.values(configs)) {
      const output = await runWrangler(['deploy', '--dry-run', '--config', config, '--outdir', folder]);
      report(`Rehearsed: ${/Total Upload: .*/.exec(output)?.[0] ?? 'bundled'}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  for (const warning of listWarnings(environment)) report(`Warning: ${warning}`);
  for (const problem of listPlaceholders(environment)) report(`Still to do: ${problem}`);
}

function listSteps(deployment: Deployment, credentials: CloudflareCredentials): DeploymentStep[] {
  const { environment, version, env } = deployment;
  const { workerName, workers, databaseNames, formerDatabase, bucketNames, queueNames, settings } = environment;
  const account = new CloudflareAccount(credentials);
  const ids: Record<string, string> = {};
  let secrets: Record<string, string> = {};
  let configs: Record<keyof Workers, string> = { api: '', background: '' };
  let url = '';
  const run = (options: string[], worker: keyof Workers = 'api') =>
    runWrangler([...options, '--config', configs[worker]], {
      env: {
        CLOUDFLARE_API_BASE_URL: credentials.baseUrl,
        CLOUDFLARE_API_TOKEN: credentials.token,
        CLOUDFLARE_ACCOUNT_ID: credentials.accountId,
      },
    });
  return [
    {
      title: 'Address: find out where the API will be reached',
      async run() {
        const findHost = async () => settings.domain ?? `${workerName}.${await account.readSubdomain()}.workers.dev`;
        url = environment.vars.PUBLIC_URL ?? `https://${await findHost()}`;
        return url;
      },
    },
    {
      title: 'Secrets: look which are there; generate keys that are missing, take the others from the environment',
      async run() {
        const { secretsToSet, notes } = makeMissingSecrets(await account.listSecretNames(workerName), env, Date.now());
        secrets = secretsToSet;
        const names = Object.keys(secretsToSet);
        return [names.length > 0 ? `to be set: ${names.join(', ')}` : 'all are there', ...notes].join('\n    ');
      },
    },
    {
      title: 'Preflight: ask everybody that the system depends on, before anything is made',
      run: async () => (await checkServices(environment, account, env)).join('\n    ') || 'all are ready',
    },
    ...Object.entries(databaseNames).map(([binding, name]) => ({
      title: `D1 database ${name}: create it, unless it is there, and let it have replicas`,
      async run() {
        const existingDatabase = await account.findDatabase(name);
        if (existingDatabase && existingDatabase.jurisdiction !== settings.location.jurisdiction)
          throw makeJurisdictionProblem(name, existingDatabase.jurisdiction);
        const id = existingDatabase?.id ?? (await account.createDatabase(name, settings.location));
        ids[binding] = id;
        await account.enableReplicas(id);
        return `${existingDatabase ? 'is there' : 'created'}: ${id}`;
      },
    })),
    ...bucketNames.map((name) => ({
      title: `R2 bucket ${name}: create it, unless it is there`,
      async run() {
        if (await account.hasBucket(name, settings.location)) return 'is there';
        await account.createBucket(name, settings.location);
        return 'created';
      },
    })),
    {
      title: `Queues: create those that are missing of ${queueNames.join(', ')}`,
      async run() {
        const existingNames = await account.listQueueNames();
        const missingNames = queueNames.filter((name) => !existingNames.includes(name));
        for (const name of missingNames) await account.createQueue(name);
        return missingNames.length > 0 ? `created: ${missingNames.join(', ')}` : 'all are there';
      },
    },
    {
      title: `Configuration: write ${getConfigFile(environment, 'api')} and ${getConfigFile(environment, 'background')}`,
      async run() {
        configs = await writeConfigs(environment, ids, { VERSION: version, PUBLIC_URL: url });
        return 'written, with the ids of the databases';
      },
    },
    ...Object.entries(databaseNames).map(([binding, name]) => ({
      title: `Migrations: apply those that ${name} lacks`,
      async run() {
        const output = await run(['d1', 'migrations', 'apply', binding, '--remote']);
        if (/No migrations to apply/.test(output)) return 'none were missing';
        return `applied: ${[...new Set(output.match(/\d{4}_[\w-]+\.sql/g))].join(', ')}`;
      },
    })),
    {
      // Until the release that divided the Worker, it was the consumer: a queue has only one. Messages wait meanwhile.
      title: `Queues: take from ${workerName} those that an earlier release gave it`,
      async run() {
        const releasedNames = await account.releaseQueues(workerName);
        return releasedNames.length > 0 ? `taken: ${releasedNames.join(', ')}` : 'it has none';
      },
    },
    // The API first: the background Worker binds its objects and its variables, and asks nothing of it that it does not
    // have yet. Messages that the older background Worker does not know wait for the newer one.
    {
      title: `Worker ${workerName}: build, upload with the secrets that it lacks`,
      run: () => withSecretsFile(deployment, secrets, (options) => run(['deploy', ...options]).then(takeLastLines)),
    },
    {
      title: `Worker ${workers.background.name}: upload, set its queues and its schedule`,
      run: () => run(['deploy'], 'background').then(takeLastLines),
    },
    {
      title: `Health: wait until /health answers version ${version}`,
      async run() {
        await waitForHealth(url, version, deployment.healthTimeoutMs ?? HEALTH_TIMEOUT_MS);
        return `well: ${url}`;
      },
    },
    {
      title: `Records: move those of ${formerDatabase}, where earlier versions kept them, to the logs of companies`,
      run: () =>
        moveFormerRecords(account, account.openBucketFiles(bucketNames[0] ?? '', settings.location), formerDatabase),
    },
  ];
}

const takeLastLines = (output: string): string =>
  (output.match(/^(Total Upload|Uploaded|Deployed|Current Version ID).*$/gm) ?? ['deployed']).join('\n    ');

/** Passes secrets to wrangler in a temporary file that only this user may read, never on a command line. */
async function withSecretsFile(
  { copyTo }: Deployment,
  secrets: Record<string, string>,
  runWithOptions: (options: string[]) => Promise<string>,
): Promise<string> {
  if (Object.keys(secrets).length === 0) return runWithOptions([]);
  if (copyTo !== undefined) await copySecrets(copyTo, secrets);
  const folder = await mkdtemp(join(tmpdir(), 'data-console-deploy-'));
  try {
    const file = join(folder, 'secrets.json');
    await writeFile(file, JSON.stringify(secrets), { mode: 0o600 });
    return await runWithOptions(['--secrets-file', file]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const getConfigFile = ({ name }: Environment, worker: keyof Workers): string =>
  `.deploy/wrangler.${name}.${worker}.json`;

/** Writes the configuration of each Worker for wrangler, with additional variables. @returns the paths of the files */
async function writeConfigs(
  environment: Environment,
  ids: Record<string, string>,
  vars: { VERSION?: string; PUBLIC_URL?: string },
): Promise<Record<keyof Workers, string>> {
  const writeConfig = async (worker: keyof Workers): Promise<string> => {
    const config = environment.workers[worker];
    const completeConfig = {
      ...config,
      // The background Worker asks the API's for all others.
      vars: worker === 'api' ? { ...config.vars, ...vars } : { VERSION: vars.VERSION },
      d1_databases: config.d1_databases?.map((database) => ({ ...database, database_id: ids[database.binding] })),
    };
    const file = join(PROJECT, getConfigFile(environment, worker));
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `${JSON.stringify(completeConfig, null, 2)}\n`);
    return file;
  };
  return { api: await writeConfig('api'), background: await writeConfig('background') };
}

const makeJurisdictionProblem = (name: string, jurisdiction: string | null): Problem =>
  new Problem(
    `The D1 database ${name} was made in ${jurisdiction ? `the jurisdiction ${jurisdiction}` : 'no jurisdiction'} and stays ` +
      'there: say so in "location" of operations/environments.json, or rename it in wrangler.toml to begin with an empty one.',
  );

function refusePlaceholders(environment: Environment): void {
  const problems = listPlaceholders(environment);
  if (problems.length > 0) throw new Problem(`Before anything is deployed, ${problems.join('; ')}.`);
}
