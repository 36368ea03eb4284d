import type { Database } from '../database.ts';
import type { KeyName } from '../keys.ts';

const DAY_SECONDS = 24 * 60 * 60;

/** Seconds for which a token signed under a key may be valid, and a minute more. Refresh tokens of programs live the longest. */
const TOKEN_SECONDS: Partial<Record<KeyName, number>> = { jwt: 30 * DAY_SECONDS + 60, embed: 365 * DAY_SECONDS + 60 };

/** Use of a key's version: something that becomes invalid without that version. */
export interface KeyUse {
  /** Description as a part of a sentence: `12 API keys, the last until 2027-01-31`. */
  description: string;
  /** Advice on how to end the use in an orderly way. */
  advice: string;
}

/** Finds the remaining uses of a key's version, as far as known. `successor` is the version in use since its creation. */
export async function findUses(
  key: KeyName,
  version: number,
  successor: number | undefined,
  database: Database,
  now: number,
): Promise<KeyUse[]> {
  const tokenSeconds = TOKEN_SECONDS[key];
  if (tokenSeconds !== undefined) return findTokenUses(key, tokenSeconds, successor, now);
  return key === 'encryption'
    ? findEncryptionUses(version, successor, database, now)
    : findDerivationUses(version, successor, database, now);
}

/** Finds uses by tokens, which are not stored: the last ones were made when the successor came into use. */
function findTokenUses(key: KeyName, seconds: number, successor: number | undefined, now: number): KeyUse[] {
  const expiresAt = successor === undefined ? Number.POSITIVE_INFINITY : successor * 1000 + seconds * 1000;
  if (expiresAt <= now) return [];
  const tokenKind = key === 'jwt' ? 'sessions of people, of the portal and of programs' : 'embed tokens';
  const end = Number.isFinite(expiresAt) ? ` until ${formatDay(expiresAt)}` : '';
  return [
    {
      description: `perhaps ${tokenKind}${end}`,
      advice: end ? `wait until ${formatDay(expiresAt)}` : 'rotate the key first',
    },
  ];
}

/** Seconds for which answers under idempotency keys are kept, the longest of what is not looked up; and a quarter of an hour more. */
const SHORT_LIVED_SECONDS = DAY_SECONDS + 15 * 60;

/** Finds uses that end soon, and cannot be counted: the last ones were made when the successor came into use. */
function findShortLivedUses(description: string, successor: number | undefined, now: number): KeyUse[] {
  const expiresAt = ((successor ?? Number.POSITIVE_INFINITY) + SHORT_LIVED_SECONDS) * 1000;
  return expiresAt > now ? [{ description, advice: 'wait until a day has passed since the key was rotated' }] : [];
}

async function findDerivationUses(
  version: number,
  successor: number | undefined,
  database: Database,
  now: number,
): Promise<KeyUse[]> {
  const uses = findShortLivedUses('answers kept under idempotency keys', successor, now);
  const [row] = await database.query<{ keys: number; last: number | null }>(
    `SELECT count(*) AS keys, max(expires_at) AS last FROM api_keys
     WHERE derivation_version = ${version} AND is_active AND expires_at > ${now}`,
  );
  if (!row?.keys) return uses;
  const keysText = `${row.keys} API key${row.keys === 1 ? '' : 's'}, the last until ${formatDay(row.last ?? now)}`;
  uses.unshift({
    description: keysText,
    advice: 'have their companies issue new keys and revoke these, or wait until they have expired',
  });
  return uses;
}

/**
 * Columns that are encrypted and kept for long. A text begins with the version that it was encrypted under. `table` and `column`
 * are SQL: an endpoint of webhooks has a list of secrets.
 */
const ENCRYPTED_COLUMNS = [
  { table: 'managed_databases', column: 'owner_connection', secretKind: 'connections' },
  { table: 'managed_databases', column: 'readonly_connection', secretKind: 'read-only connections' },
  { table: 'managed_databases', column: 'reader_password', secretKind: 'passwords of read-only logins' },
  { table: 'sso_configurations', column: 'client_secret', secretKind: 'secrets of identity providers' },
  { table: 'embed_signing_keys', column: 'secret', secretKind: 'signing keys of embeds' },
  { table: 'second_factors', column: 'secret', secretKind: 'secrets of authenticators' },
  {
    table: 'webhook_endpoints, json_each(webhook_endpoints.secrets) AS signing',
    column: "signing.value ->> 'secret'",
    secretKind: 'signing secrets of webhooks',
  },
];

async function findEncryptionUses(
  version: number,
  successor: number | undefined,
  database: Database,
  now: number,
): Promise<KeyUse[]> {
  const uses: KeyUse[] = [];
  // D1 allows few terms in a compound SELECT, so the columns are queried one by one.
  const addRows = async (table: string, condition: string, secretKind: string, advice: string) => {
    const [row] = await database.query<{ found: number }>(`SELECT count(*) AS found FROM ${table} WHERE ${condition}`);
    if (row?.found) uses.push({ description: `${row.found} ${secretKind}`, advice });
  };
  for (const { table, column, secretKind } of ENCRYPTED_COLUMNS) {
    const advice = 'the scheduled run brings them under the newest key: look again in some minutes';
    await addRows(table, `${column} LIKE 'v${version}:%'`, secretKind, advice);
  }
  const codesAdvice = 'they are kept as digests: they end when their people make new ones, or with this version';
  await addRows('backup_codes', `key_version = ${version}`, 'backup codes', codesAdvice);
  const shortLivedUses = 'codes, sign-ins, uploads from addresses, and answers kept under idempotency keys';
  return [...uses, ...findShortLivedUses(shortLivedUses, successor, now)];
}

const formatDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
