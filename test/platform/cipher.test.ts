import { describe, expect, it, vi } from 'vitest';
import { decrypt, encrypt, reencrypt } from '../../src/platform/cipher.ts';

const OLD_KEYS = { 1: 'the first secret, long enough to be one' };
const BOTH_KEYS = { ...OLD_KEYS, 2: 'the second secret, long enough to be one' };

describe('encryption', () => {
  it('restores any text by decryption', async () => {
    for (const text of ['', 'postgresql://a:b@c/d', '日本 \u{1F600}', 'x'.repeat(100_000)]) {
      expect(await decrypt(OLD_KEYS, await encrypt(OLD_KEYS, text, 'place'), 'place')).toBe(text);
    }
  });

  it('encrypts with the newest key version, and decrypts with older versions too', async () => {
    const oldText = await encrypt(OLD_KEYS, 'text', 'place');
    expect(oldText).toMatch(/^v1:[A-Za-z0-9_-]{16}:[A-Za-z0-9_-]+$/);
    expect(await decrypt(BOTH_KEYS, oldText, 'place')).toBe('text');
    expect(await encrypt(BOTH_KEYS, 'text', 'place')).toMatch(/^v2:/);
  });

  it('never has the same result twice', async () => {
    expect(await encrypt(OLD_KEYS, 'text', 'place')).not.toBe(await encrypt(OLD_KEYS, 'text', 'place'));
  });

  it('is reversible only in its context, with its key and version, and only if the text is unchanged', async () => {
    const encryptedText = await encrypt(BOTH_KEYS, 'text', 'company:a');
    // Not the last digit: some of its bits stand for nothing.
    const changedText = encryptedText.replace(/[^:](?=[^:]*$)/, (first) => (first === 'A' ? 'B' : 'A'));
    const wrongKey = { 2: 'a different secret, long enough to be one' };
    await expect(decrypt(BOTH_KEYS, encryptedText, 'company:b')).rejects.toThrow();
    await expect(decrypt(wrongKey, encryptedText, 'company:a')).rejects.toThrow();
    await expect(decrypt(OLD_KEYS, encryptedText, 'company:a')).rejects.toThrow('version 2');
    await expect(decrypt(BOTH_KEYS, changedText, 'company:a')).rejects.toThrow();
    await expect(decrypt(BOTH_KEYS, encryptedText.replace('v2', 'v1'), 'company:a')).rejects.toThrow();
    await expect(decrypt(BOTH_KEYS, 'text', 'company:a')).rejects.toThrow('not an encrypted text');
  });

  it('is renewed under the newest version, unless it has that version or cannot be decrypted', async () => {
    const oldText = await encrypt(OLD_KEYS, 'text', 'place');
    const freshText = await reencrypt(BOTH_KEYS, oldText, 'place');
    expect(freshText).toMatch(/^v2:/);
    expect(await decrypt(BOTH_KEYS, freshText, 'place')).toBe('text');
    expect([await reencrypt(BOTH_KEYS, freshText, 'place'), await reencrypt(BOTH_KEYS, null, 'place')]).toEqual([
      freshText,
      null,
    ]);

    const errorLog = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    expect(await reencrypt(BOTH_KEYS, oldText, 'another place')).toBe(oldText);
    expect(JSON.parse(errorLog.mock.calls[0]?.[0] as string)).toMatchObject({
      event: 'reencryption_failed',
      context: 'another place',
    });
    errorLog.mockRestore();
  });
});
