import { encodeBase64Url } from './bytes.ts';

/** Shape of every id of the control database: 24 lowercase hexadecimal characters. */
export const ID_PATTERN = /^[a-f0-9]{24}$/;

/** Returns a new id: 4 bytes of Unix time, then 8 random bytes, so that ids sort by creation. `now` in milliseconds. */
export const newId = (now: number): string => formatIdPrefix(now) + crypto.getRandomValues(new Uint8Array(8)).toHex();

/** Returns the prefix of ids made at a timestamp (ms): every id made earlier sorts before it. */
export const formatIdPrefix = (timestamp: number): string =>
  Math.floor(timestamp / 1000)
    .toString(16)
    .padStart(8, '0');

/** Returns the time at which an id was made, in milliseconds, exact to the second. */
export const getCreatedAt = (id: string): number => Number.parseInt(id.slice(0, 8), 16) * 1000;

/** Returns a token with 256 bits of randomness, base64url. For links and one-time secrets; store only its hash. */
export const newSecretToken = (): string => encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));

const UINT32_RANGE = 2 ** 32;

/** Returns a random whole number from 0 to below `limit` (at most 2^32), uniformly distributed; fit for secrets. */
export function generateRandomBelow(limit: number): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
  // Numbers past the last whole multiple would make the small ones likelier.
  return random < UINT32_RANGE - (UINT32_RANGE % limit) ? random % limit : generateRandomBelow(limit);
}
