import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import { defineConfig } from 'vitest/config';
import { buildPages } from './src/web/build.ts';
import { findMemoryFolder } from './test/support/memory-folder.ts';
import { sendPlainMessages } from './test/support/plain-messages.ts';

/**
 * Tests of code that needs neither the Workers runtime nor a running system: they run in Node. Tests in none of the three lists
 * run in workerd, with real bindings.
 */
const NODE_TESTS = [
  'test/access/**/*.test.ts',
  'test/architecture/**/*.test.ts',
  'test/kernel/**/*.test.ts',
  'test/passkeys/specification.test.ts',
  'test/permissions/**/*.test.ts',
  'test/presentation/**/*.test.ts',
  'test/sharing/**/*.test.ts',
  'test/sql-templates/**/*.test.ts',
  // But the readers of forms and of HTML: streams and HTMLRewriter are the runtime's.
  'test/formats/!(multipart|html)/**/*.test.ts',
  'test/uploads/inference/**/*.test.ts',
  'test/uploads/archive.test.ts',
  'test/uploads/workbook-limit.test.ts',
  'test/uploads/workbook/**/*.test.ts',
  'test/docs/**/*.test.ts',
  'test/examples/**/*.test.ts',
  'test/texts/**/*.test.ts',
  'test/web/**/*.test.ts',
  'test/guards/**/*.test.ts',
  'test/local/{bundle-cache,pooler-messages,state}.test.ts',
  'test/operations/{migrations,secret-file}.test.ts',
];

/** Tests of the commands, and of what `npm start` starts: each runs processes of its own. */
const PROCESS_TESTS = [
  'test/local/!(bundle-cache|pooler-messages|state).test.ts',
  'test/operations/!(migrations|secret-file).test.ts',
  'test/generated-clients/*.test.ts',
];

/** Tests in a real browser: of the pages of a system as `npm start` runs it, and of the packages that browsers use. */
const BROWSER_TESTS = ['test/pages/**/*.browser.test.ts', 'test/packages/**/*.browser.test.ts'];

// Tests start wrangler and the operator's commands many times: what V8 made of their code is kept.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// The runtime syncs each write of a database to its disk, and each company's database has hundreds of files. In memory that
// costs a third less of the system's time, and no wait. The databases need three gigabytes, all else a fraction of one.
const databases = findMemoryFolder(8) ?? tmpdir();
process.env.TMPDIR ??= findMemoryFolder(4) ?? tmpdir();

sendPlainMessages();

// The Worker that is tested serves them.
await buildPages();

const BUNDLED_PACKAGES = [
  '@cfworker/json-schema',
  '@neon/sdk/raw',
  'drizzle-orm',
  'drizzle-orm/batch',
  'drizzle-orm/d1',
  'drizzle-orm/sqlite-core',
  'hono',
  'hyparquet-writer',
  'jose',
  'openai',
  'standardwebhooks',
  'yaml',
  'zod',
  'zod-openapi',
];

/**
 * Whether all tests run. Some files wait for time limits, so that two cores are busy only with five workers. The tests of one
 * area run on two workers: each process that loads the Worker first computes for ten seconds, so that five would take twice as
 * long.
 */
const runsAllTests = process.argv.length <= 3;

/** The time limits on a busy machine, in milliseconds; by default `expect.poll` waits for only one second. */
const TIMEOUTS = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 30_000 } } };

/** The options that give random tests the same seed each time, unless `RANDOM_SEED` sets another. */
const SEED_OPTIONS = {
  setupFiles: ['test/support/seed.ts'],
  provide: { seed: Number(process.env.RANDOM_SEED ?? 20_260_131) },
};

const { privateKey } = generateKeyPairSync('ed25519');
const random = () => randomBytes(32).toString('base64');

export default defineConfig({
  test: {
    maxWorkers: runsAllTests ? Math.max(5, availableParallelism() - 1) : 2,
    projects: [
      { test: { name: 'node', isolate: false, include: NODE_TESTS, ...SEED_OPTIONS, ...TIMEOUTS } },
      { test: { name: 'local', include: PROCESS_TESTS, ...SEED_OPTIONS, ...TIMEOUTS } },
      {
        test: {
          name: 'browser',
          // The files of a process share its browser.
          isolate: false,
          include: BROWSER_TESTS,
          globalSetup: ['test/pages/browser-setup.ts', 'test/support/oidc-provider.ts'],
          ...SEED_OPTIONS,
          ...TIMEOUTS,
          // A page that a busy machine was too slow for is opened once more; a fault fails twice.
          retry: 1,
        },
      },
      {
        test: {
          name: 'worker',
          // Loading the Worker takes seconds: once for each process, not for each file.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...NODE_TESTS, ...PROCESS_TESTS, ...BROWSER_TESTS],
          // Vitest would wait for ever for the answer to a line that a request logs at the end of a file: the request is over.
          disableConsoleIntercept: true,
          // The Worker fetches module after module from Vitest: packages of many come as one.
          deps: { optimizer: { ssr: { enabled: true, include: BUNDLED_PACKAGES } } },
          setupFiles: [...SEED_OPTIONS.setupFiles, 'test/support/setup.ts'],
          provide: { databases, ...SEED_OPTIONS.provide },
          globalSetup: [
            'test/support/global-setup.ts',
            'test/support/oidc-provider.ts',
            'test/support/ai-server.ts',
            'test/support/mail-provider.ts',
            'test/support/file-server.ts',
            'test/support/webhook-receiver.ts',
          ],
          ...TIMEOUTS,
        },
        plugins: [
          cloudflareTest(async ({ inject }) => ({
            // One Worker with the handlers of both.
            main: './test/support/main.ts',
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                CONTROL_DB_MIGRATIONS: await readD1Migrations('drizzle'),
                PLATFORM_ADMIN_TOKEN: 'operator-token-of-the-tests',
                JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'test-1' }]),
                KEY_DERIVATION_SECRETS: JSON.stringify({ 1: random() }),
                EMBED_SECRETS: JSON.stringify({ 1: random() }),
                ENCRYPTION_KEYS: JSON.stringify({ 1: random() }),
                NEON_API_URL: inject('neonApiUrl'),
                NEON_API_KEY: inject('neonApiKey'),
                NEON_ORG_ID: inject('neonOrganization'),
                NEON_WS_PROXY: inject('neonWsProxy'),
                AI_API_KEY: 'key-of-the-tests',
                AI_BASE_URL: `${inject('aiServerUrl')}/default/v1`,
                CONSOLE_URL: 'https://console.test',
                // The identity providers of the tests are on this machine.
                ALLOW_PRIVATE_ISSUERS: 'true',
                WEBHOOK_RETRY_SECONDS: '1,2',
                WEBHOOK_DISABLE_AFTER_SECONDS: '3600',
                // Generous, so that tests meet a limit only where they ask for one.
                RATE_LIMIT_ORGANIZATION_PER_MINUTE: '1000000',
                RATE_LIMIT_PRINCIPAL_PER_MINUTE: '1000000',
                RATE_LIMIT_IP_PER_SECOND: '1000000',
                RATE_LIMIT_TOKEN_PER_MINUTE: '1000000',
                RATE_LIMIT_QUESTIONS_PER_MINUTE: '1000000',
              },
            },
          })),
        ],
      },
    ],
  },
});
