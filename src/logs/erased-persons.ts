import { createHmac } from 'node:crypto';
import { DAY_MS } from '../kernel/clock.ts';
import { newSecretToken } from '../kernel/ids.ts';
import { selectRows } from '../platform/objects.ts';
import type { LogRecord } from './log.ts';
import { type Person, redactValue } from './redaction.ts';

/** The longest time for which a queue keeps a message. */
const QUEUE_RETENTION_MS = 14 * DAY_MS;
const SECRET_KEY = 'forgotten_secret';
/** The length of a pseudonym: it has the form of an id, so that it can replace one anywhere. */
const PSEUDONYM_LENGTH = 24;

/** Matches texts that may identify a person: ids and addresses. */
const PERSON_ID_PATTERN = /[0-9a-f]{24}|[^\s"\\/,;:=&?<>()[\]]+@[^\s"\\/,;:=&?<>()[\]]*\w/g;

/** Creates the table of erased persons, as keyed digests: records that still arrive are redacted by it. */
export function createErasedPersonsTable(sql: SqlStorage): void {
  sql.exec(
    'CREATE TABLE IF NOT EXISTS forgotten (digest TEXT PRIMARY KEY, pseudonym TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID',
  );
}

/** Returns the secret of the log's digests, which stays the same when keys of the platform are replaced. */
function openSecret({ kv }: DurableObjectStorage): string {
  const secret = kv.get<string>(SECRET_KEY) ?? newSecretToken();
  kv.put(SECRET_KEY, secret);
  return secret;
}

/** Makes the pseudonym of an email address, always the same: an erasure that was begun before keeps its own. */
export function makePseudonym(storage: DurableObjectStorage, email: string): string {
  const secret = openSecret(storage);
  const [erasedRow] = selectRows<{ pseudonym: string }>(
    storage.sql,
    'SELECT pseudonym FROM forgotten WHERE digest = ?',
    computeDigest(secret, email),
  );
  return erasedRow?.pseudonym ?? computeDigest(secret, `pseudonym\n${email}`).slice(0, PSEUDONYM_LENGTH);
}

/** Stores that a person was erased. @param now milliseconds */
export function recordErasedPerson(storage: DurableObjectStorage, person: Person, now: number): void {
  const secret = openSecret(storage);
  for (const identifier of [...person.ids, person.email, ...person.ips])
    storage.sql.exec(
      'INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)',
      computeDigest(secret, identifier),
      person.pseudonym,
      now,
    );
}

/** Deletes erased persons whom no queued message can name any more. */
export function purgeErasedPersons(sql: SqlStorage, now: number): void {
  sql.exec('DELETE FROM forgotten WHERE at <= ?', now - QUEUE_RETENTION_MS);
}

/** Returns the records with pseudonyms in place of persons erased after the record's time. */
export function redactErasedPersons(
  { sql, kv }: DurableObjectStorage,
  records: readonly LogRecord[],
): readonly LogRecord[] {
  const secret = kv.get<string>(SECRET_KEY);
  if (secret === undefined || sql.exec('SELECT 1 FROM forgotten LIMIT 1').toArray().length === 0) return records;
  return records.map((record) => findErasedPersons(sql, secret, record).reduce<LogRecord>(redactRecord, record));
}

const redactRecord = (record: LogRecord, person: Person): LogRecord => redactValue(record, person) as LogRecord;

const computeDigest = (secret: string, identifier: string): string =>
  createHmac('sha256', secret).update(identifier).digest('hex');

/** Returns the erased persons that a record names. */
function findErasedPersons(sql: SqlStorage, secret: string, record: LogRecord): Person[] {
  const identifiers = new Set(JSON.stringify(record).toLowerCase().match(PERSON_ID_PATTERN));
  const ip = 'ip' in record && typeof record.ip === 'string' ? [record.ip] : [];
  const identifiersByDigest = new Map(
    [...identifiers, ...ip].map((identifier) => [computeDigest(secret, identifier), identifier]),
  );
  const erasedRows = selectRows<{ digest: string; pseudonym: string }>(
    sql,
    'SELECT digest, pseudonym FROM forgotten WHERE at >= ? AND digest IN (SELECT value FROM json_each(?))',
    record.occurredAt,
    JSON.stringify([...identifiersByDigest.keys()]),
  );
  return [...Map.groupBy(erasedRows, ({ pseudonym }) => pseudonym)].map(([pseudonym, rows]) => {
    const personIdentifiers = rows.map(({ digest }) => identifiersByDigest.get(digest) as string);
    return {
      ids: personIdentifiers.filter((identifier) => !identifier.includes('@') && !ip.includes(identifier)),
      email: personIdentifiers.find((identifier) => identifier.includes('@')) ?? '',
      pseudonym,
      ips: personIdentifiers.filter((identifier) => ip.includes(identifier)),
    };
  });
}
