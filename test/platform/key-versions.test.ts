import { describe, expect, it } from 'vitest';
import { decrypt, encrypt } from '../../src/platform/cipher.ts';
import { gatherVersions } from '../../src/platform/key-versions.ts';
import { findSecret, newestSecret } from '../../src/platform/secrets.ts';

const keysOf = (env: object): Record<string, string> => JSON.parse(String(gatherVersions(env).ENCRYPTION_KEYS));
const kidsOf = (env: object): string[] =>
  JSON.parse(String(gatherVersions(env).JWT_PRIVATE_KEYS)).map(({ kid }: { kid: string }) => kid);

const FIRST = 'the first secret, long enough to be one';
const SECOND = 'the second secret, long enough to be one';

describe('secret versions in variables of their own', () => {
  it('are added to those of the bare name, and replace one of the same number', () => {
    expect(keysOf({ ENCRYPTION_KEYS: JSON.stringify({ 1: FIRST }), ENCRYPTION_KEYS_1795309380: SECOND })).toEqual({
      1: FIRST,
      1795309380: SECOND,
    });
    expect(keysOf({ ENCRYPTION_KEYS_7: FIRST })).toEqual({ 7: FIRST });
    expect(keysOf({ ENCRYPTION_KEYS: JSON.stringify({ 7: SECOND }), ENCRYPTION_KEYS_7: FIRST })).toEqual({ 7: FIRST });
  });

  it('change neither other variables nor invalid ones', () => {
    const env = { ENCRYPTION_KEYS: 'not JSON', ENCRYPTION_KEYS_2: SECOND, EMBED_SECRETS_OLD: 'x', CONTROL_DB: {} };
    expect(gatherVersions(env)).toEqual(env);
  });

  it('are not used for encryption while they are marked as next', async () => {
    const before = keysOf({ ENCRYPTION_KEYS_7: FIRST });
    const next = keysOf({ ENCRYPTION_KEYS_7: FIRST, ENCRYPTION_KEYS_NEXT_9: SECOND });
    const after = keysOf({ ENCRYPTION_KEYS_7: FIRST, ENCRYPTION_KEYS_NEXT_9: SECOND, ENCRYPTION_KEYS_9: SECOND });
    expect([before, next, after].map((keys) => newestSecret(keys).version)).toEqual([7, 7, 9]);
    expect([before, next, after].map((keys) => findSecret(keys, 9))).toEqual([undefined, SECOND, SECOND]);
    // Isolates before and after the key is in use read what the other writes.
    expect(await decrypt(next, await encrypt(after, 'text', 'place'), 'place')).toBe('text');
    expect(await decrypt(after, await encrypt(next, 'text', 'place'), 'place')).toBe('text');
  });

  it('sign only when they are the newest JWT key in use, and verify in any case', () => {
    const jwk = (kid: string) => JSON.stringify({ kid });
    expect(
      kidsOf({
        JWT_PRIVATE_KEYS: `[${jwk('1')}]`,
        JWT_PRIVATE_KEYS_5: jwk('5'),
        JWT_PRIVATE_KEYS_20: jwk('20'),
        JWT_PRIVATE_KEYS_NEXT_20: jwk('20'),
        JWT_PRIVATE_KEYS_NEXT_30: jwk('30'),
      }),
    ).toEqual(['20', '5', '1', '30']);
  });
});
