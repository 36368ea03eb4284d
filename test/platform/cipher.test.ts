import { describe, expect, it, vi } from 'vitest';
import { decrypt, encrypt, reencrypt } from '../../src/platform/cipher.ts';

const OLD = { 1: 'the first secret, long enough to be one' };
const BOTH = { ...OLD, 2: 'the second secret, long enough to be one' };

describe('encryption', () => {
  it('restores any text by decryption', async () => {
    for (const text of ['', 'postgresql://a:b@c/d', '日本 \u{1F600}', 'x'.repeat(100_000)]) {
      expect(await decrypt(OLD, await encrypt(OLD, text, 'place'), 'place')).toBe(text);
    }
  });

  it('uses the newest version, and older ones for decryption', async () => {
    const old = await encrypt(OLD, 'text', 'place');
    expect(old).toMatch(/^v1:[A-Za-z0-9_-]{16}:[A-Za-z0-9_-]+$/);
    expect(await decrypt(BOTH, old, 'place')).toBe('text');
    expect(await encrypt(BOTH, 'text', 'place')).toMatch(/^v2:/);
  });

  it('never has the same result twice', async () => {
    expect(await encrypt(OLD, 'text', 'place')).not.toBe(await encrypt(OLD, 'text', 'place'));
  });

  it('is reversible only in its context, with its key and version, and for an unchanged text', async () => {
    const encrypted = await encrypt(BOTH, 'text', 'company:a');
    // Not the last digit: some of its bits stand for nothing.
    const changed = encrypted.replace(/[^:](?=[^:]*$)/, (first) => (first === 'A' ? 'B' : 'A'));
    const wrongKey = { 2: 'a different secret, long enough to be one' };
    await expect(decrypt(BOTH, encrypted, 'company:b')).rejects.toThrow();
    await expect(decrypt(wrongKey, encrypted, 'company:a')).rejects.toThrow();
    await expect(decrypt(OLD, encrypted, 'company:a')).rejects.toThrow('version 2');
    await expect(decrypt(BOTH, changed, 'company:a')).rejects.toThrow();
    await expect(decrypt(BOTH, encrypted.replace('v2', 'v1'), 'company:a')).rejects.toThrow();
    await expect(decrypt(BOTH, 'text', 'company:a')).rejects.toThrow('not an encrypted text');
  });

  it('is renewed under the newest version, unless it has that version or cannot be decrypted', async () => {
    const old = await encrypt(OLD, 'text', 'place');
    const fresh = await reencrypt(BOTH, old, 'place');
    expect(fresh).toMatch(/^v2:/);
    expect(await decrypt(BOTH, fresh, 'place')).toBe('text');
    expect([await reencrypt(BOTH, fresh, 'place'), await reencrypt(BOTH, null, 'place')]).toEqual([fresh, null]);

    const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    expect(await reencrypt(BOTH, old, 'another place')).toBe(old);
    expect(JSON.parse(logged.mock.calls[0]?.[0] as string)).toMatchObject({
      event: 'reencryption_failed',
      context: 'another place',
    });
    logged.mockRestore();
  });
});
