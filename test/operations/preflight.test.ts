import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CloudflareAccount } from '../../operations/cloudflare.ts';
import { checkServices } from '../../operations/deployment/preflight.ts';
import { type EnvironmentSettings, readEnvironment } from '../../operations/environments.ts';
import { type LocalCloudflare, startCloudflare } from './cloudflare.ts';
import { startNeonAccount } from './command.ts';

let folder: string;
let cloudflare: LocalCloudflare;
let cleanups: (() => Promise<void>)[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'preflight-'));
  cloudflare = await startCloudflare();
  cleanups = [cloudflare.close, () => rm(folder, { recursive: true, force: true })];
  cloudflare.zones.set('console.test', {
    status: 'active',
    plan: 'business',
    sendingDomains: [{ name: 'mail.console.test', enabled: true }],
  });
});
afterEach(async () => {
  for (const end of cleanups) await end();
});

const SETTINGS: EnvironmentSettings = {
  domain: 'api.console.test',
  location: { hint: 'weur', jurisdiction: null, neon_region: 'aws-eu-central-1' },
  vars: { MAIL_FROM: 'Console <no-reply@mail.console.test>', CONSOLE_URL: 'https://console.test' },
};

interface PreflightCase {
  settings?: Partial<EnvironmentSettings>;
  vars?: Record<string, string>;
  env?: NodeJS.ProcessEnv;
  neon?: { plan?: 'free' | 'launch' | 'scale'; projectCount?: number };
}

/** Checks the settings of production. @returns the notes of the check, or the error that it throws */
async function checkSettings({
  settings = {},
  vars = {},
  env = { NEON_API_KEY: 'organization' },
  neon = {},
}: PreflightCase = {}) {
  const projects = Array.from({ length: neon.projectCount ?? 0 }, (_, at) => ({ id: `p-${at}`, name: `p-${at}` }));
  await writeFile(join(folder, 'projects.json'), JSON.stringify(projects));
  const account = await startNeonAccount(folder, { organizationKey: 'organization', plan: neon.plan ?? 'launch' });
  cleanups.unshift(account.close);
  const environment = await readEnvironment('production', {
    ...SETTINGS,
    ...settings,
    vars: { ...(settings.vars ?? SETTINGS.vars), NEON_API_URL: account.apiUrl, ...vars },
  });
  const requestCount = cloudflare.receivedRequests.length;
  const checkResult = await checkServices(environment, new CloudflareAccount(cloudflare), env).then(
    (notes) => ({ isReady: true, text: notes.join('\n') }),
    (error: Error) => ({ isReady: false, text: error.message }),
  );
  expect(cloudflare.unansweredRequests).toEqual([]);
  // The preflight changes nothing.
  expect(cloudflare.receivedRequests.slice(requestCount).filter((request) => !request.startsWith('GET'))).toEqual([]);
  return checkResult;
}

it('the preflight passes when everything is ready', async () => {
  expect(await checkSettings()).toEqual({
    isReady: true,
    text: 'Neon: 0 of the 100 projects that the plan launch of org-local-12345678 has',
  });
});

it('the preflight does not check the mail domain when another service sends mail', async () => {
  const { isReady, text } = await checkSettings({ vars: { MAIL_FROM: 'a@elsewhere.test', MAIL_PROVIDER: 'resend' } });
  expect(isReady).toBe(true);
  expect(text).toContain('Mail from elsewhere.test is sent by resend, which needs MAIL_API_KEY.');
});

it('the preflight checks the values of wrangler.toml that the environment does not override', async () => {
  const { MAIL_FROM: _, ...vars } = SETTINGS.vars;
  const { text } = await checkSettings({ settings: { vars } });
  expect(text).toContain('MAIL_FROM is at example.com, which is in no zone');
});

describe('the preflight of a deployment that cannot succeed', () => {
  it.each<[string, PreflightCase & { prepare?: () => void }, RegExp]>([
    [
      'R2 is off',
      {
        prepare: () => {
          cloudflare.hasR2 = false;
        },
      },
      /R2 is not switched on: open R2 in the dashboard .*10042/,
    ],
    [
      'the token may not use queues',
      { prepare: () => cloudflare.refusedRequests.push('GET /queues') },
      /let CLOUDFLARE_API_TOKEN edit Queues/,
    ],
    [
      'the domain is in no zone of the account',
      { settings: { domain: 'api.elsewhere.test' } },
      /"domain" is at api.elsewhere.test, which is in no zone/,
    ],
    [
      'the zone is not active',
      { prepare: () => Object.assign(cloudflare.zones.get('console.test') ?? {}, { status: 'pending' }) },
      /The zone console.test is pending/,
    ],
    [
      'the sender address of mails has no domain',
      { vars: { MAIL_FROM: 'nobody' } },
      /MAIL_FROM is "nobody": give it an address/,
    ],
    [
      'the mail domain is not the account’s',
      { vars: { MAIL_FROM: 'a@elsewhere.test' } },
      /MAIL_FROM is at elsewhere.test, which is in no zone/,
    ],
    [
      'the mail domain does not send yet',
      { vars: { MAIL_FROM: 'a@console.test' } },
      /No mail is sent from console.test yet: .*wrangler email sending enable console.test/,
    ],
    [
      'the mail domain waits for its DNS records',
      {
        prepare: () =>
          cloudflare.zones.get('console.test')?.sendingDomains.forEach((it) => {
            it.enabled = false;
          }),
      },
      /Mail from mail.console.test waits for its DNS records/,
    ],
    [
      'the token may not see mail',
      { prepare: () => cloudflare.refusedRequests.push('GET /zones/zone-of-console.test/email/sending/subdomains') },
      /let CLOUDFLARE_API_TOKEN read Zone and Email Sending/,
    ],
    ['Neon does not know the key', { env: { NEON_API_KEY: 'wrong' } }, /Neon does not know NEON_API_KEY/],
    [
      'the Neon key is a person’s and no organization is set',
      { env: { NEON_API_KEY: 'person' } },
      /put "NEON_ORG_ID" into "vars" of production .*org-local-12345678\/settings#api-keys.*organizations: org-local-12345678 \(Local\)/,
    ],
    [
      'the organization is not that of the Neon key',
      { vars: { NEON_ORG_ID: 'org-other' } },
      /may not use the organization org-other at Neon: 404/,
    ],
    [
      'Neon has no such region',
      { settings: { location: { hint: 'weur', jurisdiction: null, neon_region: 'aws-moon-1' } } },
      /Neon has no region "aws-moon-1".*it has aws-us-east-1, /,
    ],
    [
      'the plan keeps less history than is configured',
      { neon: { plan: 'free' } },
      /NEON_HISTORY_SECONDS is 604800, and the plan free .* keeps 21600/,
    ],
    [
      'there is no room for another company',
      { neon: { projectCount: 100 } },
      /100 of the 100 projects .*no further company could get a database/,
    ],
  ])('says what has to be done when %s', async (_, { prepare, ...given }, message) => {
    prepare?.();
    const { isReady, text } = await checkSettings(given);
    expect(text).toMatch(message);
    expect(isReady).toBe(false);
  });

  it('lists all problems at once', async () => {
    cloudflare.hasR2 = false;
    const { text } = await checkSettings({ env: { NEON_API_KEY: 'wrong' }, vars: { MAIL_FROM: 'nobody' } });
    expect(text.match(/^- /gm)).toHaveLength(3);
  });
});

it('the preflight throws the problem of a check that fails while an earlier one still runs', async () => {
  cloudflare.requestsFailingOnce.add('GET /r2/buckets');
  const unhandled: unknown[] = [];
  const recordRejection = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', recordRejection);
  cleanups.unshift(async () => void process.off('unhandledRejection', recordRejection));
  const { isReady, text } = await checkSettings({ vars: { NEON_API_URL: 'http://127.0.0.1:9/api/v2' } });
  expect(isReady).toBe(false);
  expect(text).toContain('Neon');
  expect(unhandled).toEqual([]);
});

describe('the preflight of a deployment that can succeed', () => {
  it.each<[string, PreflightCase & { prepare?: () => void }, string]>([
    [
      'a zone that allows smaller bodies than an upload has',
      { prepare: () => Object.assign(cloudflare.zones.get('console.test') ?? {}, { plan: 'pro' }) },
      'console.test (plan pro) lets bodies of 100 MB through',
    ],
    ['production under workers.dev', { settings: { domain: null } }, 'Warning: production has no "domain"'],
    [
      'a Neon key of a person',
      { env: { NEON_API_KEY: 'person' }, vars: { NEON_ORG_ID: 'org-local-12345678' } },
      "NEON_API_KEY is a person's and ends with them",
    ],
    ['no Neon key', { env: {} }, 'Neon: not looked at'],
    ['few projects left at Neon', { neon: { projectCount: 80 } }, 'Warning: Neon: 80 of the 100'],
    [
      'a mail domain covered by a wildcard',
      {
        prepare: () =>
          cloudflare.zones.get('console.test')?.sendingDomains.splice(0, 1, { name: '*.console.test', enabled: true }),
      },
      '',
    ],
  ])('passes, with a warning where one is due, with %s', async (_, { prepare, ...given }, message) => {
    prepare?.();
    const { isReady, text } = await checkSettings(given);
    expect(text).toContain(message);
    expect(isReady).toBe(true);
  });
});

it.each([
  [401, false],
  [404, true],
])('the preflight accepts an AI provider that answers %s to its key: %s', async (status, isReady) => {
  const model = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await new Promise((resolve) => model.once('listening', resolve));
  cleanups.unshift(async () => void model.close());
  const { port } = model.address() as { port: number };
  const checkResult = await checkSettings({
    vars: { AI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    env: { NEON_API_KEY: 'organization', AI_API_KEY: 'key' },
  });
  expect(checkResult.isReady).toBe(isReady);
  if (!isReady) expect(checkResult.text).toContain('refuses AI_API_KEY with 401');
});
