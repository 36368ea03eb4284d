import { globSync, readFileSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PROJECT } from '../../operations/environments.ts';
import { KEY_NAMES, KEY_VARIABLES, type KeyName, makeKey, makeKeyVersion } from '../../operations/keys.ts';
import { findUses } from '../../operations/rotation/key-uses.ts';
import { gatherVersions } from '../../src/platform/key-versions.ts';
import { callCommand, runCommand } from './command.ts';
import { createLocalState, type LocalState } from './local-state.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let state: LocalState;
let folder: string;
beforeAll(async () => {
  state = await createLocalState();
  folder = state.folder;
});
afterAll(() => state.remove());

const readSecrets = async (): Promise<Record<string, string>> =>
  JSON.parse(await readFile(join(folder, 'secrets.json'), 'utf8'));

/** Writes version 1 of each key, and the other secrets of a local start, to the file of secrets. */
beforeEach(async () => {
  const first = KEY_NAMES.map((key) => [
    KEY_VARIABLES[key],
    key === 'jwt' ? `[${makeKey(key, 1)}]` : JSON.stringify({ 1: makeKey(key, 1) }),
  ]);
  await writeFile(join(folder, 'secrets.json'), JSON.stringify({ ...Object.fromEntries(first), NEON_API_KEY: 'neon' }));
});

const runRotation = (...options: string[]) => callCommand('rotate-keys', options, { LOCAL_STATE_DIR: folder });

const runStatements = (...statements: string[]): void => {
  for (const statement of statements) state.query(statement);
};

const makeApiKeySql = (version: number, expiresAt: number) =>
  `INSERT INTO api_keys (id, company_id, service_account_id, access_key, salt, derivation_version, secret_digest,
     description, expires_at, is_active, created_at, updated_at)
   VALUES ('${crypto.randomUUID()}', 'c', 's', '${crypto.randomUUID()}', 'salt', ${version}, 'd', '', ${expiresAt}, 1, 0, 0)`;

describe.each(KEY_NAMES)('the rotation of the key %s', (key) => {
  it('adds a version that is used from then on, and keeps the old version and all other secrets', async () => {
    const secretsBefore = await readSecrets();
    const { code, output } = await runRotation(key, '--copy-secrets-to', join(folder, `${key}.copy`));
    expect([code, output]).toEqual([0, expect.stringMatching(/^Version (\d+) is set.*\nVersion \1 is in use/)]);
    const secretsAfter = await readSecrets();
    const [added, ...others] = Object.keys(secretsAfter).filter((name) => !(name in secretsBefore));
    expect(others).toEqual([]);
    expect(added).toMatch(new RegExp(`^${KEY_VARIABLES[key]}_\\d{10}$`));
    expect(secretsAfter).toMatchObject(secretsBefore);

    const value = secretsAfter[added as string] as string;
    const gatheredVersions = JSON.parse(String(gatherVersions(secretsAfter)[KEY_VARIABLES[key]]));
    if (key === 'jwt') expect([gatheredVersions.length, gatheredVersions[0]]).toEqual([2, JSON.parse(value)]);
    else expect([Object.keys(gatheredVersions).length, Object.values(gatheredVersions)[1]]).toEqual([2, value]);
    // The secret is only in the requested copy, which nobody else may read.
    expect(output).not.toContain(value);
    const copy = join(folder, `${key}.copy`);
    expect(JSON.parse(await readFile(copy, 'utf8'))).toEqual({ [added as string]: value });
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
  });

  it('never removes the only version', async () => {
    const { code, output } = await runRotation('remove', key, '1', '--force');
    expect([code, output]).toEqual([1, expect.stringContaining('rotate it first')]);
  });
});

/** Reads from the source the days for which the longest-lived refresh token is valid. */
function readLongestRefresh(): number {
  const texts = globSync('src/**/*.ts', { cwd: PROJECT }).map((file) => readFileSync(join(PROJECT, file), 'utf8'));
  const lifetimes = texts.flatMap((text) => [...text.matchAll(/REFRESH_TOKEN_LIFETIME_MS = (.+);/g)]);
  return Math.max(...lifetimes.map(([, value]) => Number(/^(\d+) \* DAY_MS$/.exec(value ?? '')?.[1])));
}

/** Makes a function that finds the uses of a key's first version some time after the rotation, where nothing is stored. */
function findUsesAtEmptyDatabase(key: KeyName) {
  const now = Date.now();
  const emptyDatabase = { query: async () => [], close: async () => undefined };
  return (ms: number) => findUses(key, 1, makeKeyVersion(now), emptyDatabase, now + ms);
}

describe('the removal of an old version of a key', () => {
  it('is refused while API keys are derived from it, and names their number and latest expiry', async () => {
    const until = Date.now() + 30 * DAY_MS;
    runStatements(
      'DELETE FROM api_keys',
      makeApiKeySql(1, until),
      makeApiKeySql(1, Date.now() - DAY_MS),
      makeApiKeySql(2, until),
    );
    await runRotation('key-derivation');
    const refusedRemoval = await runRotation('remove', 'key-derivation', '1');
    expect(refusedRemoval).toEqual({
      code: 1,
      output: expect.stringContaining(`1 API key, the last until ${new Date(until).toISOString().slice(0, 10)}`),
    });
    expect(await readSecrets()).toHaveProperty('KEY_DERIVATION_SECRETS');
    const keyListing = await runCommand('rotate-keys', ['list'], { LOCAL_STATE_DIR: folder });
    expect(keyListing.output).toContain('1  needed by 1 API key');

    runStatements('UPDATE api_keys SET is_active = 0 WHERE derivation_version = 1');
    expect((await runRotation('remove', 'key-derivation', '1')).output).not.toContain('API key');
    expect((await runRotation('remove', 'key-derivation', '1', '--force')).code).toBe(0);
    expect(await readSecrets()).not.toHaveProperty('KEY_DERIVATION_SECRETS');
  });

  it.each(['key-derivation', 'encryption'] as const)(
    'of %s is refused for the day that answers are kept under idempotency keys',
    async (key) => {
      const findUsesAfter = findUsesAtEmptyDatabase(key);
      expect(await findUsesAfter(DAY_MS)).toEqual([
        expect.objectContaining({ description: expect.stringContaining('answers kept under idempotency keys') }),
      ]);
      expect(await findUsesAfter(DAY_MS + 16 * 60_000)).toEqual([]);
    },
  );

  it('is refused while anything is encrypted under it', async () => {
    runStatements(
      'DELETE FROM backup_codes',
      `INSERT INTO second_factors (id, company_id, user_id, secret, created_at) VALUES ('f', 'c', 'u', 'v1:iv:text', 0)`,
      `INSERT INTO embed_signing_keys (id, company_id, secret, created_at) VALUES ('k', 'c', 'v1:iv:text', 0)`,
      `INSERT INTO backup_codes (company_id, factor_id, digest, key_version) VALUES ('c', 'f', 'd', 1), ('c', 'f', 'e', 7)`,
      `INSERT INTO managed_databases (id, company_id, status, owner_connection, created_at, updated_at)
       VALUES ('m', 'c', 'ready', 'v1:iv:text', 0, 0), ('n', 'd', 'ready', 'v12:iv:text', 0, 0)`,
      `INSERT INTO webhook_endpoints (id, company_id, url, description, event_types, status, secrets, created_at, updated_at)
       VALUES ('w', 'c', 'https://a.test', '', '["*"]', 'active',
         '[{"secret":"v12:iv:text","until":null},{"secret":"v1:iv:text","until":1}]', 0, 0)`,
    );
    await runRotation('encryption');
    const { code, output } = await runRotation('remove', 'encryption', '1');
    expect(code).toBe(1);
    for (const encryptedUse of [
      '1 connections',
      '1 secrets of authenticators',
      '1 signing keys',
      '1 signing secrets of webhooks',
      '1 backup codes',
      'uploads from addresses',
    ]) {
      expect(output).toContain(encryptedUse);
    }
    expect(output).not.toContain('read-only');
    const forcedRemoval = await runRotation('remove', 'encryption', '1', '--force');
    expect(forcedRemoval).toEqual({ code: 0, output: expect.stringContaining('Ended: 1 backup codes') });
  });

  it.each([
    ['jwt', readLongestRefresh()],
    ['embed', 365],
  ] as const)('of %s is refused for the %s days that a token can live', async (key, days) => {
    await runRotation(key);
    expect((await runRotation('remove', key, '1')).output).toMatch(
      /still needed by\n {2}perhaps .* until \d{4}-\d\d-\d\d/,
    );
    const findUsesAfter = findUsesAtEmptyDatabase(key);
    expect(await findUsesAfter(days * DAY_MS)).toHaveLength(1);
    expect(await findUsesAfter(days * DAY_MS + 61_000)).toEqual([]);
  });
});

it.each([[[]], [['burn']], [['jwt', 'now']], [['remove', 'jwt']], [['list', '--settle=-1']]])(
  'npm run rotate-keys prints its usage when called with %j',
  async (options) => {
    expect(await runRotation(...options)).toEqual({ code: 1, output: expect.stringContaining('Usage') });
  },
);
