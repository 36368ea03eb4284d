import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LocalNeon } from '../../local/neon/server.ts';
import { deploy } from '../../operations/deployment/deploy.ts';
import { waitForHealth } from '../../operations/deployment/health.ts';
import { makeMissingSecrets } from '../../operations/deployment/secrets.ts';
import { type Environment, PROJECT, readEnvironment } from '../../operations/environments.ts';
import { type LocalCloudflare, startCloudflare } from './cloudflare.ts';
import { callCommand, runCommand, startNeonAccount } from './command.ts';
import { OBSERVABILITY_WITHOUT_ADDRESSES } from './observability.ts';

const DEPLOYED_VERSION = '0.1.0+tests';
const QUEUE_NAMES = ['jobs', 'model-jobs', 'rechecks', 'data-jobs', 'schedules', 'webhooks', 'audit', 'share-events'];

let cloudflare: LocalCloudflare;
let neon: LocalNeon;
let deployedServer: Server;
let environment: Environment;
let folder: string;
/** The answer of the deployed Worker to a health check. */
let healthAnswer = { status: 200, body: { status: 'ok', version: DEPLOYED_VERSION } as object };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deploy-'));
  cloudflare = await startCloudflare();
  deployedServer = createServer((_, response) => {
    response.writeHead(healthAnswer.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(healthAnswer.body));
  });
  await new Promise<void>((resolve) => deployedServer.listen(0, '127.0.0.1', resolve));
  cloudflare.zones.set('console.test', {
    status: 'active',
    plan: 'free',
    sendingDomains: [{ name: 'console.test', enabled: true }],
  });
  neon = await startNeonAccount(join(folder, 'neon'), { organizationKey: 'neon' });
  const vars = {
    CONSOLE_URL: 'https://console.test',
    MAIL_FROM: 'Data Console <no-reply@console.test>',
    ALLOWED_ORIGINS: 'https://console.test',
    NEON_API_URL: neon.apiUrl,
    PUBLIC_URL: `http://127.0.0.1:${(deployedServer.address() as AddressInfo).port}`,
  };
  const location = { hint: null, jurisdiction: 'eu', neon_region: 'aws-eu-central-1' } as const;
  environment = await readEnvironment('staging', { domain: null, location, vars });
});
afterAll(async () => {
  await cloudflare.close();
  await neon.close();
  deployedServer.close();
  await rm(folder, { recursive: true, force: true });
});

/** Deploys to the stand-in of Cloudflare. @returns the lines that were reported */
async function runDeployment(env: NodeJS.ProcessEnv = {}): Promise<string> {
  const lines: string[] = [];
  await deploy(
    {
      environment,
      version: DEPLOYED_VERSION,
      env,
      copyTo: join(folder, 'safe'),
      report: (line) => lines.push(line),
      healthTimeoutMs: 1,
    },
    cloudflare,
  );
  return lines.join('\n');
}

const getWorker = () => cloudflare.workers.get('data-console-staging-api');
const getBackgroundWorker = () => cloudflare.workers.get('data-console-staging-background');

// wrangler takes ten seconds and more for each of its parts.
describe('a deployment to a Cloudflare account', { timeout: 240_000 }, () => {
  it('reports a missing key before it creates anything', async () => {
    await expect(runDeployment()).rejects.toThrow('Set NEON_API_KEY in the environment of this command');
    expect(cloudflare.databases.size + cloudflare.queues.size + cloudflare.buckets.size).toBe(0);
  });

  it('turns an empty account into the running system', async () => {
    const report = await runDeployment({ NEON_API_KEY: 'neon', PLATFORM_ADMIN_TOKEN: 'the token of the operator' });
    expect(cloudflare.unansweredRequests).toEqual([]);
    expect([...cloudflare.databases.keys()]).toEqual(['data-console-staging-control']);
    expect([...cloudflare.databases.values()].map(({ replication }) => replication)).toEqual(['auto']);
    // What cannot be moved later is made where it was asked for.
    expect([...cloudflare.databases.values()].map(({ location }) => location)).toEqual([{ jurisdiction: 'eu' }]);
    expect(report).toContain('there is no such database');
    expect([...cloudflare.buckets]).toEqual([['data-console-staging-files', { jurisdiction: 'eu' }]]);
    const names = QUEUE_NAMES.map((name) => `data-console-staging-${name}`);
    expect(new Set(cloudflare.queues.keys())).toEqual(new Set(names.flatMap((name) => [name, `${name}-dead`])));

    // wrangler itself has migrated the database.
    const listTables = (name: string) =>
      cloudflare.databases
        .get(`data-console-staging-${name}`)
        ?.sqlite.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
        .all()
        .map((table) => table.name);
    expect(listTables('control')).toEqual(expect.arrayContaining(['companies', 'users', 'api_keys']));

    // wrangler itself has uploaded the Worker, with its bindings, its secrets, its schedule and its consumers.
    const { metadata, secrets, schedules, migrationTag } = getWorker() ?? {};
    const listBindings = (type: string) => metadata?.bindings.filter((binding) => binding.type === type) ?? [];
    expect(listBindings('queue').map(({ queue_name }) => queue_name)).toEqual(expect.arrayContaining(names));
    expect(listBindings('d1')).toHaveLength(1);
    expect(listBindings('durable_object_namespace')).toHaveLength(7);
    expect(listBindings('plain_text')).toContainEqual({ name: 'VERSION', type: 'plain_text', text: DEPLOYED_VERSION });
    expect(listBindings('plain_text')).toContainEqual(expect.objectContaining({ text: 'https://console.test' }));
    expect(listBindings('plain_text')).toContainEqual({ name: 'DATA_JURISDICTION', type: 'plain_text', text: 'eu' });
    expect(listBindings('plain_text')).toContainEqual({
      name: 'NEON_REGION',
      type: 'plain_text',
      text: 'aws-eu-central-1',
    });
    expect(metadata?.placement).toEqual({ mode: 'targeted', region: 'aws:eu-central-1' });
    expect([schedules, migrationTag]).toEqual([[], 'v4']);
    const {
      metadata: backgroundMetadata,
      secrets: backgroundSecrets,
      schedules: backgroundSchedules,
    } = getBackgroundWorker() ?? {};
    const listBackgroundBindings = (type: string) =>
      backgroundMetadata?.bindings.filter((binding) => binding.type === type) ?? [];
    for (const type of ['queue', 'd1', 'r2_bucket', 'send_email'])
      expect(listBackgroundBindings(type)).toEqual(listBindings(type));
    expect(listBackgroundBindings('durable_object_namespace')).toEqual(
      listBindings('durable_object_namespace').map((binding) => ({
        ...binding,
        script_name: 'data-console-staging-api',
      })),
    );
    expect(listBackgroundBindings('service')).toEqual([
      { name: 'API_VARIABLES', type: 'service', service: 'data-console-staging-api', entrypoint: 'Variables' },
    ]);
    // Addresses of requests hold tokens: nothing of the platform's keeps them.
    for (const workerMetadata of [metadata, backgroundMetadata]) {
      expect(workerMetadata?.observability).toMatchObject(OBSERVABILITY_WITHOUT_ADDRESSES);
    }
    // All other variables, and every secret, are the API's alone.
    expect(listBackgroundBindings('plain_text')).toEqual([
      { name: 'VERSION', type: 'plain_text', text: DEPLOYED_VERSION },
    ]);
    expect([backgroundSecrets?.size, backgroundSchedules]).toEqual([0, [{ cron: '* * * * *' }]]);
    for (const [name, { consumers }] of cloudflare.queues) {
      expect(consumers).toEqual([
        expect.objectContaining({
          script_name: 'data-console-staging-background',
          settings: expect.objectContaining({ max_concurrency: expect.any(Number) }),
        }),
      ]);
      if (!name.endsWith('-dead')) expect(consumers[0]).toMatchObject({ dead_letter_queue: `${name}-dead` });
    }
    expect([...(secrets?.keys() ?? [])].map((name) => name.replace(/\d{10}/, 'N')).sort()).toEqual([
      'EMBED_SECRETS_N',
      'ENCRYPTION_KEYS_N',
      'JWT_PRIVATE_KEYS_N',
      'KEY_DERIVATION_SECRETS_N',
      'NEON_API_KEY',
      'PLATFORM_ADMIN_TOKEN',
    ]);
    // Neither report nor configuration shows a secret; generated ones are copied to the given place.
    const readConfig = (name: string) => readFile(join(PROJECT, '.deploy', `wrangler.staging.${name}.json`), 'utf8');
    const config = (await readConfig('api')) + (await readConfig('background'));
    for (const secret of secrets?.values() ?? []) expect(report + config).not.toContain(secret);
    const copy = await readFile(join(folder, 'safe'), 'utf8');
    const copiedSecrets = Object.assign(
      {},
      ...copy
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    );
    expect(copiedSecrets).toEqual(Object.fromEntries(secrets ?? []));
    expect((await stat(join(folder, 'safe'))).mode & 0o777).toBe(0o600);
  });

  describe('over a system that an earlier release deployed as one Worker', () => {
    let secretsBefore: Map<string, string>;
    let creationsBefore: string[];
    let deploymentRequests: string[];
    let report: string;
    const listCreations = () =>
      cloudflare.receivedRequests.filter((request) => /^POST \/(d1\/database|r2\/buckets|queues)$/.test(request));
    beforeAll(async () => {
      const script = 'data-console-staging-api';
      for (const queue of cloudflare.queues.values()) {
        queue.consumers = queue.consumers.map((consumer) => ({ ...consumer, script, script_name: script }));
      }
      Object.assign(getWorker() ?? {}, { schedules: [{ cron: '* * * * *' }] });
      secretsBefore = new Map(getWorker()?.secrets);
      creationsBefore = listCreations();
      const from = cloudflare.receivedRequests.length;
      report = await runDeployment({ PLATFORM_ADMIN_TOKEN: 'another token of the operator' });
      deploymentRequests = cloudflare.receivedRequests.slice(from);
    }, 240_000);

    it('moves queues and schedule to the second Worker', () => {
      expect(report).toContain('taken: data-console-staging-');
      for (const { consumers } of cloudflare.queues.values()) {
        expect(consumers).toEqual([expect.objectContaining({ script: 'data-console-staging-background' })]);
      }
      expect(getWorker()?.schedules).toEqual([]);
      // Before that Worker loses its handler: a message that it cannot handle would die within seconds.
      const releasedIndex = deploymentRequests.findLastIndex((request) =>
        /^DELETE \/queues\/.*\/consumers\//.test(request),
      );
      const uploadedIndex = deploymentRequests.findIndex((request) =>
        /^(PUT|POST) \/workers\/scripts\/data-console-staging-api/.test(request),
      );
      expect(releasedIndex).toBeGreaterThan(-1);
      expect(releasedIndex).toBeLessThan(uploadedIndex);
    });

    it('creates no resource again and overwrites no secret', () => {
      expect(cloudflare.unansweredRequests).toEqual([]);
      expect(listCreations()).toEqual(creationsBefore);
      expect([getWorker()?.secrets, getWorker()?.uploadCount, getBackgroundWorker()?.uploadCount]).toEqual([
        secretsBefore,
        2,
        2,
      ]);
      expect(report.match(/none were missing/g)).toHaveLength(1);
      expect(report).toContain('PLATFORM_ADMIN_TOKEN is set already and stays');
    });
  });

  it('refuses a change of the jurisdiction, which would not move the database', async () => {
    const { settings } = environment;
    const otherJurisdiction = await readEnvironment('staging', {
      ...settings,
      location: { ...settings.location, hint: 'weur', jurisdiction: null },
    });
    const deployment = { environment: otherJurisdiction, version: DEPLOYED_VERSION, env: {}, report: () => undefined };
    await expect(deploy(deployment, cloudflare)).rejects.toThrow('was made in the jurisdiction eu and stays there');
  });

  it('results in a system that the operators’ commands can use', async () => {
    const env = {
      CLOUDFLARE_API_BASE_URL: cloudflare.baseUrl,
      CLOUDFLARE_API_TOKEN: cloudflare.token,
      CLOUDFLARE_ACCOUNT_ID: cloudflare.accountId,
    };
    const secretNamesBefore = [...(getWorker()?.secrets.keys() ?? [])];
    const from = cloudflare.receivedRequests.length;
    // A second later, the version is another one.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect((await callCommand('rotate-keys', ['embed', '--env', 'staging', '--settle', '0'], env)).code).toBe(0);
    const [added, ...others] = [...(getWorker()?.secrets.keys() ?? [])].filter(
      (name) => !secretNamesBefore.includes(name),
    );
    expect([added, others]).toEqual([expect.stringMatching(/^EMBED_SECRETS_\d{10}$/), []]);
    // The new version was first set for decryption only, then for use, and then the old one was removed.
    const path = '/workers/scripts/data-console-staging-api/secrets';
    const changes = cloudflare.receivedRequests.slice(from).filter((request) => !request.startsWith('GET'));
    const next = added?.replace('SECRETS_', 'SECRETS_NEXT_');
    expect(changes).toEqual([`PUT ${path}`, `PUT ${path}`, `DELETE ${path}/${next}`]);

    const keyListing = await callCommand('rotate-keys', ['list', '--env', 'staging'], env);
    expect(keyListing.output).toMatch(
      /embed\n {2}\d{10} {2}needed by perhaps embed tokens until .*\n {2}\d{10} {2}used for all/,
    );
    const letterListing = await callCommand('dead-letters', ['list', '--env', 'staging'], env);
    expect(letterListing.output).toBe('There are no dead letters.\n');
    const failedRestore = await callCommand(
      'restore',
      ['save', 'nobody', join(folder, 'rows'), '--env', 'staging'],
      env,
    );
    expect(failedRestore.output).toBe('There is no company nobody.\n');
    const failedListing = await callCommand('dead-letters', ['list', '--env', 'production'], env);
    expect(failedListing.output).toBe(
      'There is no bucket data-console-files of data-console-api yet: npm run deploy -- --env production\n',
    );
  });

  it.each([
    ['is broken', 503, { status: 'broken', version: DEPLOYED_VERSION, broken: ['files'] }],
    ['is an older one', 200, { status: 'ok', version: 'an older one' }],
  ])('fails with instructions when the Worker that answers %s', async (_, status, body) => {
    healthAnswer = { status, body };
    const url = environment.settings.vars.PUBLIC_URL as string;
    await expect(waitForHealth(url, DEPLOYED_VERSION, 1)).rejects.toThrow(
      new RegExp(`does not answer that version .* is well: ${status} .*${body.status}[^]*roll back`),
    );
  });

  it('fails with instructions, before it creates anything, when the account has no workers.dev subdomain', async () => {
    const vars = { ...environment.settings.vars };
    delete vars.PUBLIC_URL;
    const environmentWithoutUrl = await readEnvironment('staging', { ...environment.settings, vars });
    const requestCount = cloudflare.receivedRequests.length;
    cloudflare.subdomain = null;
    const deployment = {
      environment: environmentWithoutUrl,
      version: DEPLOYED_VERSION,
      env: {},
      report: () => undefined,
    };
    await expect(deploy(deployment, cloudflare)).rejects.toThrow('The account has no workers.dev subdomain');
    expect(cloudflare.receivedRequests.slice(requestCount)).toEqual(['GET /workers/subdomain']);
  });

  it('says to check the token’s permissions when the token is refused', async () => {
    const wrongAccount = { ...cloudflare, token: 'wrong' };
    const deployment = { environment, version: DEPLOYED_VERSION, env: {}, report: () => undefined };
    await expect(deploy(deployment, wrongAccount)).rejects.toThrow('Check what CLOUDFLARE_API_TOKEN may do');
  });
});

describe('npm run deploy', { timeout: 120_000 }, () => {
  it('with --dry-run reports each step without a network or account, and builds a bundle that fits into a Worker', async () => {
    const { code, output } = await runCommand('deploy', ['--env', 'production', '--dry-run'], {
      CLOUDFLARE_API_BASE_URL: 'http://127.0.0.1:9',
    });
    expect(code).toBe(0);
    const steps = ['Secrets:', 'Preflight:', 'D1 database data-console-control', 'R2 bucket data-console-files'];
    steps.push(
      'Queues:',
      'Migrations:',
      'Worker data-console-api',
      'Worker data-console-background',
      'Health:',
      'Records:',
    );
    for (const step of steps) expect(output).toContain(step);
    for (const queue of QUEUE_NAMES)
      expect(output).toMatch(new RegExp(`data-console-${queue},.*data-console-${queue}-dead`));
    expect(output).toContain('Still to do: give CONSOLE_URL of production in operations/environments.json');
    expect(output).toMatch(
      /Still to do: say in "location" of production .* "hint" is one of wnam, .*cannot be changed/,
    );
    expect(output).toMatch(/Still to do: say in "location" of production .* "neon_region"/);
    expect(output).toContain('Warning: production has no "domain"');

    const [, kibibytes] = /Total Upload: .* gzip: ([\d.]+) KiB/.exec(output) ?? [];
    expect(Number(kibibytes)).toBeGreaterThan(100);
    expect(Number(kibibytes) * 1024).toBeLessThan(1_600_000);
  });

  it.each([
    [[], {}, 'Usage: npm run deploy'],
    [['--env', 'moon'], {}, 'There is no environment "moon": say --env staging or --env production.'],
    [['--env', 'production', '--yes'], {}, '--yes'],
    [['--env', 'production'], {}, 'Set CLOUDFLARE_API_TOKEN to a token that may edit'],
    [
      ['--env', 'production'],
      { CLOUDFLARE_API_TOKEN: 't', CLOUDFLARE_ACCOUNT_ID: 'a' },
      'Before anything is deployed, give CONSOLE_URL of production in operations/environments.json an address of your own',
    ],
  ])('says what is missing when called with %j and %j', async (options, env, message) => {
    expect(await callCommand('deploy', options, env)).toEqual({ code: 1, output: expect.stringContaining(message) });
  });
});

it('a deployment recognizes existing secrets whichever version they have', () => {
  const presentSecrets = [
    'JWT_PRIVATE_KEYS_5',
    'ENCRYPTION_KEYS',
    'EMBED_SECRETS_NEXT_7',
    'NEON_API_KEY',
    'AI_API_KEY',
  ];
  const { secretsToSet } = makeMissingSecrets(
    presentSecrets,
    { PLATFORM_ADMIN_TOKEN: 'the token of the operator' },
    1795309380_000,
  );
  // One that was only next when a rotation broke off is no key yet.
  expect(Object.keys(secretsToSet)).toEqual([
    'KEY_DERIVATION_SECRETS_1795309380',
    'EMBED_SECRETS_1795309380',
    'PLATFORM_ADMIN_TOKEN',
  ]);
  expect(() => makeMissingSecrets(['NEON_API_KEY'], { PLATFORM_ADMIN_TOKEN: 'short' }, 0)).toThrow('at least 16');
});
