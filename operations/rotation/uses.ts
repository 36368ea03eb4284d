import type { Database } from '../database.ts';
import type { KeyName } from '../keys.ts';

const DAY_SECONDS = 24 * 60 * 60;

/** How long a token signed under a key may be valid, and a minute more. Seconds. */
const TOKEN_SECONDS: Partial<Record<KeyName, number>> = { jwt: 7 * DAY_SECONDS + 60, embed: 365 * DAY_SECONDS + 60 };

/** Something that becomes invalid with a version of a key. */
export interface KeyUse {
  /** Part of a sentence: `12 API keys, the last until 2027-01-31`. */
  what: string;
  /** How to end its use in an orderly way. */
  advice: string;
}

/** Finds what still needs a version of a key, as far as that can be known. `successor` is in use since its creation. */
export async function findUses(
  key: KeyName,
  version: number,
  successor: number | undefined,
  database: Database,
  now: number,
): Promise<KeyUse[]> {
  const signedFor = TOKEN_SECONDS[key];
  if (signedFor !== undefined) return findTokenUses(key, signedFor, successor, now);
  return key === 'encryption'
    ? findEncryptionUses(version, successor, database, now)
    : findDerivationUses(version, database, now);
}

/** Tokens are not stored: the last ones were made when the successor came. */
function findTokenUses(key: KeyName, seconds: number, successor: number | undefined, now: number): KeyUse[] {
  const until = successor === undefined ? Number.POSITIVE_INFINITY : successor * 1000 + seconds * 1000;
  if (until <= now) return [];
  const what = key === 'jwt' ? 'sessions of people and of the portal' : 'embed tokens';
  const end = Number.isFinite(until) ? ` until ${formatDay(until)}` : '';
  return [{ what: `perhaps ${what}${end}`, advice: end ? `wait until ${formatDay(until)}` : 'rotate the key first' }];
}

async function findDerivationUses(version: number, database: Database, now: number): Promise<KeyUse[]> {
  const [row] = await database.query<{ keys: number; last: number | null }>(
    `SELECT count(*) AS keys, max(expires_at) AS last FROM api_keys
     WHERE derivation_version = ${version} AND is_active AND expires_at > ${now}`,
  );
  if (!row?.keys) return [];
  const what = `${row.keys} API key${row.keys === 1 ? '' : 's'}, the last until ${formatDay(row.last ?? now)}`;
  return [{ what, advice: 'have their companies issue new keys and revoke these, or wait until they have expired' }];
}

/** The condition that a column's texts were encrypted under a version, with which they begin. */
const encryptedUnderSql = (column: string) => (version: number) => `${column} LIKE 'v${version}:%'`;

/** Columns that are encrypted and kept for long. */
const ENCRYPTED_COLUMNS = [
  { table: 'managed_databases', what: 'connections', where: encryptedUnderSql('owner_connection') },
  { table: 'managed_databases', what: 'read-only connections', where: encryptedUnderSql('readonly_connection') },
  { table: 'managed_databases', what: 'passwords of read-only logins', where: encryptedUnderSql('reader_password') },
  { table: 'sso_configurations', what: 'secrets of identity providers', where: encryptedUnderSql('client_secret') },
  { table: 'embed_signing_keys', what: 'signing keys of embeds', where: encryptedUnderSql('secret') },
  { table: 'second_factors', what: 'secrets of authenticators', where: encryptedUnderSql('secret') },
  { table: 'backup_codes', what: 'backup codes', where: (version: number) => `key_version = ${version}` },
];

/** The lifetime of mailed codes, and of sign-ins at identity providers. Seconds. */
const SHORT_LIVED_SECONDS = 15 * 60;

async function findEncryptionUses(
  version: number,
  successor: number | undefined,
  database: Database,
  now: number,
): Promise<KeyUse[]> {
  const rows: { what: string; found: number }[] = [];
  for (const { table, what, where } of ENCRYPTED_COLUMNS) {
    // D1 allows few terms in a compound SELECT, so the columns are queried one by one.
    const [row] = await database.query<{ found: number }>(
      `SELECT count(*) AS found FROM ${table} WHERE ${where(version)}`,
    );
    rows.push({ what, found: row?.found ?? 0 });
  }
  const uses = rows.flatMap(({ what, found }): KeyUse[] => {
    if (found === 0) return [];
    const advice =
      what === 'backup codes'
        ? 'they are kept as digests: they end when their people make new ones, or with this version'
        : 'the scheduled run brings them under the newest key: look again in some minutes';
    return [{ what: `${found} ${what}`, advice }];
  });
  const shortLivedUntil = ((successor ?? Number.POSITIVE_INFINITY) + SHORT_LIVED_SECONDS) * 1000;
  if (shortLivedUntil > now)
    uses.push({ what: 'codes and sign-ins of the last minutes', advice: 'wait a quarter of an hour' });
  return uses;
}

const formatDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
