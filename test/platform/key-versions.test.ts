import { describe, expect, it } from 'vitest';
import { decrypt, encrypt } from '../../src/platform/cipher.ts';
import { gatherVersions } from '../../src/platform/key-versions.ts';
import { findSecret, getNewestSecret } from '../../src/platform/secrets.ts';

const readEncryptionKeys = (env: object): Record<string, string> =>
  JSON.parse(String(gatherVersions(env).ENCRYPTION_KEYS));
const listKids = (env: object): string[] =>
  JSON.parse(String(gatherVersions(env).JWT_PRIVATE_KEYS)).map(({ kid }: { kid: string }) => kid);

const FIRST_SECRET = 'the first secret, long enough to be one';
const SECOND_SECRET = 'the second secret, long enough to be one';

describe('secret versions in variables of their own', () => {
  it('are added to the versions in the unnumbered variable, and replace a version of the same number', () => {
    expect(
      readEncryptionKeys({
        ENCRYPTION_KEYS: JSON.stringify({ 1: FIRST_SECRET }),
        ENCRYPTION_KEYS_1795309380: SECOND_SECRET,
      }),
    ).toEqual({
      1: FIRST_SECRET,
      1795309380: SECOND_SECRET,
    });
    expect(readEncryptionKeys({ ENCRYPTION_KEYS_7: FIRST_SECRET })).toEqual({ 7: FIRST_SECRET });
    expect(
      readEncryptionKeys({ ENCRYPTION_KEYS: JSON.stringify({ 7: SECOND_SECRET }), ENCRYPTION_KEYS_7: FIRST_SECRET }),
    ).toEqual({ 7: FIRST_SECRET });
  });

  it('change no other variables, and no variables with an invalid value', () => {
    const env = {
      ENCRYPTION_KEYS: 'not JSON',
      ENCRYPTION_KEYS_2: SECOND_SECRET,
      EMBED_SECRETS_OLD: 'x',
      CONTROL_DB: {},
    };
    expect(gatherVersions(env)).toEqual(env);
  });

  it('are not used for encryption while they are marked as next', async () => {
    const keysBefore = readEncryptionKeys({ ENCRYPTION_KEYS_7: FIRST_SECRET });
    const next = readEncryptionKeys({ ENCRYPTION_KEYS_7: FIRST_SECRET, ENCRYPTION_KEYS_NEXT_9: SECOND_SECRET });
    const keysAfter = readEncryptionKeys({
      ENCRYPTION_KEYS_7: FIRST_SECRET,
      ENCRYPTION_KEYS_NEXT_9: SECOND_SECRET,
      ENCRYPTION_KEYS_9: SECOND_SECRET,
    });
    expect([keysBefore, next, keysAfter].map((keys) => getNewestSecret(keys).version)).toEqual([7, 7, 9]);
    expect([keysBefore, next, keysAfter].map((keys) => findSecret(keys, 9))).toEqual([
      undefined,
      SECOND_SECRET,
      SECOND_SECRET,
    ]);
    // Isolates before and after the key is in use read what the other writes.
    expect(await decrypt(next, await encrypt(keysAfter, 'text', 'place'), 'place')).toBe('text');
    expect(await decrypt(keysAfter, await encrypt(next, 'text', 'place'), 'place')).toBe('text');
  });

  it('sign only when they are the newest JWT key in use, and verify in any case', () => {
    const makeJwk = (kid: string) => JSON.stringify({ kid });
    expect(
      listKids({
        JWT_PRIVATE_KEYS: `[${makeJwk('1')}]`,
        JWT_PRIVATE_KEYS_5: makeJwk('5'),
        JWT_PRIVATE_KEYS_20: makeJwk('20'),
        JWT_PRIVATE_KEYS_NEXT_20: makeJwk('20'),
        JWT_PRIVATE_KEYS_NEXT_30: makeJwk('30'),
      }),
    ).toEqual(['20', '5', '1', '30']);
  });
});
