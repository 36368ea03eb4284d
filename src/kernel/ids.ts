import { base64Url } from './bytes.ts';

/** Shape of every id of the control database: 24 lowercase hexadecimal characters. */
export const ID_PATTERN = /^[a-f0-9]{24}$/;

/** A new id: 4 bytes of Unix time, then 8 random bytes, so that ids sort by creation. `now` in milliseconds. */
export const newId = (now: number): string => idPrefixAt(now) + crypto.getRandomValues(new Uint8Array(8)).toHex();

/** The beginning of ids that are made at a timestamp (ms): all ids before it sort before this. */
export const idPrefixAt = (timestamp: number): string =>
  Math.floor(timestamp / 1000)
    .toString(16)
    .padStart(8, '0');

/** When an id was made (ms), to the second. */
export const getCreatedAt = (id: string): number => Number.parseInt(id.slice(0, 8), 16) * 1000;

/** A token with 256 bits of randomness, base64url. For links and one-time secrets; store only its hash. */
export const newSecretToken = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

const RANGE = 2 ** 32;

/** A random whole number from 0 to below `limit` (at most 2^32), each equally likely; fit for secrets. */
export function randomBelow(limit: number): number {
  const [random] = crypto.getRandomValues(new Uint32Array(1)) as unknown as [number];
  // Numbers past the last whole multiple would make the small ones likelier.
  return random < RANGE - (RANGE % limit) ? random % limit : randomBelow(limit);
}
