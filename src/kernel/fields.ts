import { z } from 'zod';

/** Schema of a time as every surface shows it: ISO 8601 in UTC. */
export const timestampSchema = z.iso.datetime().meta({ examples: ['2026-01-31T12:00:00.000Z'] });

/** Last time that ISO 8601 writes with a year of four digits, as the timestamp schema requires. */
const LAST_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Schema of a time as every surface accepts it: ISO 8601 of any time zone, read as milliseconds since the epoch. */
export const isoMillisecondsSchema = z.iso
  .datetime({ offset: true })
  .refine((text) => !(Date.parse(text) > LAST_TIME_MS), 'must be before the year 10000 in UTC')
  .transform((text) => Date.parse(text));

/** Formats milliseconds since the epoch as ISO 8601. */
export const formatIsoTimestamp = (ms: number): string => new Date(ms).toISOString();

export const formatIsoTimestampOrNull = (ms: number | null): string | null =>
  ms === null ? null : formatIsoTimestamp(ms);

/** Schema of a value of a result. */
export const resultCellSchema = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const MAX_METADATA_KEYS = 50;
const MAX_METADATA_BYTES = 16 * 1024;

/** Schema of free key-value pairs on a resource, of limited size. Routes read its numbers by `exactNumbers: 'text'`. */
export const metadataSchema = z
  .record(z.string(), z.unknown())
  .refine((pairs) => Object.keys(pairs).length <= MAX_METADATA_KEYS, `must have at most ${MAX_METADATA_KEYS} keys`)
  .refine(
    (pairs) => new TextEncoder().encode(JSON.stringify(pairs)).length <= MAX_METADATA_BYTES,
    'must be at most 16 KiB as JSON',
  )
  .meta({
    description: `Key-value pairs of your own: at most ${MAX_METADATA_KEYS} keys and 16 KiB as JSON. Numbers that a double cannot hold become text.`,
  });

/** Pattern of an email address in the regular expression syntax of all languages: a `-` in a class is `\x2d`. */
const EMAIL_PATTERN =
  /^(?:[A-Za-z0-9_'+\x2d]+\.)*[A-Za-z0-9_'+\x2d]*[A-Za-z0-9_+\x2d]@(?:[A-Za-z0-9][A-Za-z0-9\x2d]*\.)+[A-Za-z]{2,}$/;

/** Schema of an email address, converted to lower case. */
export const email = z
  .email({ pattern: EMAIL_PATTERN })
  .max(254)
  .transform((address) => address.toLowerCase());

const SLUG_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Schema of a slug: lower-case letters and digits in groups separated by single hyphens. */
export const slugSchema = z
  .string()
  .max(63)
  .regex(SLUG_PATTERN, 'must be lower-case letters and digits, separated by single hyphens')
  .meta({ description: 'Lower-case letters and digits, separated by single hyphens.' });

export const MAX_TOKEN_LENGTH = 64 * 1024;

/** Schema of an issued token or secret, ours or an identity provider's, whose tokens are the longest. */
export const tokenSchema = z.string().min(1).max(MAX_TOKEN_LENGTH);

/** Schema of the address of another system. */
export const webAddressSchema = z.url().max(2048);

/** Schema of a name that people give: one line, not blank, of limited length. Used in mails, file headers and lists. */
export const displayNameSchema = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((name) => !/\p{Cc}/u.test(name), 'must hold no control characters');

/** Schema of a description that people write: of limited length, may be empty. */
export const description = z.string().max(2000);

const MAX_IDS = 100;

/** Makes the schema of a list of different ids in a body. The service checks whether they exist. */
export const makeIdsSchema = (minimum = 0) =>
  z
    .array(z.string().min(1).max(100))
    .min(minimum)
    .max(MAX_IDS)
    .transform((ids) => [...new Set(ids)]);

/** Returns true if a JSON value is an object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
