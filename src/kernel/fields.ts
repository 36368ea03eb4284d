import { z } from 'zod';

/** A time as every surface shows it: ISO 8601 in UTC. */
export const timestamp = z.iso.datetime().meta({ examples: ['2026-01-31T12:00:00.000Z'] });

/** The last time that ISO 8601 writes with a year of four digits, as `timestamp` does. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** A time as every surface takes it: ISO 8601 of any time zone, read as milliseconds since the epoch. */
export const isoMilliseconds = z.iso
  .datetime({ offset: true })
  .refine((text) => !(Date.parse(text) > LAST_TIME), 'must be before the year 10000 in UTC')
  .transform((text) => Date.parse(text));

/** Milliseconds since the epoch as ISO 8601. */
export const isoTimestamp = (ms: number): string => new Date(ms).toISOString();

export const isoTimestampOrNull = (ms: number | null): string | null => (ms === null ? null : isoTimestamp(ms));

/** A value of a result. */
export const resultCell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const METADATA_KEYS = 50;
const METADATA_BYTES = 16 * 1024;

/** Whether JSON can hold all numbers of a value: of `1e999` it would hold null. */
const hasFiniteNumbers = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).every(hasFiniteNumbers)
    : typeof value !== 'number' || Number.isFinite(value);

/** Free key-value pairs on a resource, bounded. */
export const metadata = z
  .record(z.string(), z.unknown().refine(hasFiniteNumbers, 'holds a number that is too large'))
  .refine((pairs) => Object.keys(pairs).length <= METADATA_KEYS, `must have at most ${METADATA_KEYS} keys`)
  .refine(
    (pairs) => new TextEncoder().encode(JSON.stringify(pairs)).length <= METADATA_BYTES,
    'must be at most 16 KiB as JSON',
  )
  .meta({ description: `Key-value pairs of your own: at most ${METADATA_KEYS} keys and 16 KiB as JSON.` });

/** An email address, in the syntax that the regular expressions of all languages share: a `-` in a class is `\x2d`. */
const EMAIL_PATTERN =
  /^(?:[A-Za-z0-9_'+\x2d]+\.)*[A-Za-z0-9_'+\x2d]*[A-Za-z0-9_+\x2d]@(?:[A-Za-z0-9][A-Za-z0-9\x2d]*\.)+[A-Za-z]{2,}$/;

/** An email address, stored lower-case. */
export const email = z
  .email({ pattern: EMAIL_PATTERN })
  .max(254)
  .transform((address) => address.toLowerCase());

const SLUG_PATTERN = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** A slug: lower-case letters and digits in groups separated by single hyphens. */
export const slug = z
  .string()
  .max(63)
  .regex(SLUG_PATTERN, 'must be lower-case letters and digits, separated by single hyphens')
  .meta({ description: 'Lower-case letters and digits, separated by single hyphens.' });

export const MAX_TOKEN_LENGTH = 64 * 1024;

/** A token or secret as it was given out, here or by a provider of identities, whose tokens are the longest. */
export const givenToken = z.string().min(1).max(MAX_TOKEN_LENGTH);

/** The address of another system. */
export const webAddress = z.url().max(2048);

/** A name that people give to a thing: one line, not blank, bounded. It stands in mails, headers of files and lists. */
export const displayName = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .refine((name) => !/\p{Cc}/u.test(name), 'must hold no control characters');

/** A description that people write: of limited length, may be empty. */
export const description = z.string().max(2000);

const MAX_IDS = 100;

/** A list of ids in a body, each once. Whether they are there is for the service to say. */
export const idsInput = (minimum = 0) =>
  z
    .array(z.string().min(1).max(100))
    .min(minimum)
    .max(MAX_IDS)
    .transform((ids) => [...new Set(ids)]);

/** Whether JSON is an object. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
