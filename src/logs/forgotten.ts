import { createHmac } from 'node:crypto';
import { DAY_MS } from '../kernel/clock.ts';
import { newSecretToken } from '../kernel/ids.ts';
import { selectRows } from '../platform/objects.ts';
import type { Logged } from './log.ts';
import { type Person, redactValue } from './redaction.ts';

/** The longest time that a queue keeps a message. */
const RETENTION_MS = 14 * DAY_MS;
const SECRET_KEY = 'forgotten_secret';

/** Texts that may identify a person: ids and addresses. */
const PERSON_ID_PATTERN = /[0-9a-f]{24}|[^\s"\\/,;:=&?<>()[\]]+@[^\s"\\/,;:=&?<>()[\]]*\w/g;

/** The table of persons taken out of a log, as keyed digests: earlier records may still come, and are redacted then. */
export function createForgotten(sql: SqlStorage): void {
  sql.exec(
    'CREATE TABLE IF NOT EXISTS forgotten (digest TEXT PRIMARY KEY, pseudonym TEXT NOT NULL, at INTEGER NOT NULL) WITHOUT ROWID',
  );
}

/** Remembers that a person was forgotten. @param now milliseconds */
export function rememberForgotten({ sql, kv }: DurableObjectStorage, person: Person, now: number): void {
  const secret = kv.get<string>(SECRET_KEY) ?? newSecretToken();
  kv.put(SECRET_KEY, secret);
  for (const mark of [...person.ids, person.email, ...person.ips])
    sql.exec('INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)', computeDigest(secret, mark), person.pseudonym, now);
}

/** Forgets whom no message can name any more. */
export function purgeForgotten(sql: SqlStorage, now: number): void {
  sql.exec('DELETE FROM forgotten WHERE at <= ?', now - RETENTION_MS);
}

/** The records with a pseudonym in the place of everybody who was forgotten after the record's time. */
export function redactForgotten({ sql, kv }: DurableObjectStorage, records: readonly Logged[]): readonly Logged[] {
  const secret = kv.get<string>(SECRET_KEY);
  if (secret === undefined || sql.exec('SELECT 1 FROM forgotten LIMIT 1').toArray().length === 0) return records;
  return records.map((record) => findForgottenPersons(sql, secret, record).reduce<Logged>(redactRecord, record));
}

const redactRecord = (record: Logged, person: Person): Logged => redactValue(record, person) as Logged;

const computeDigest = (secret: string, mark: string): string => createHmac('sha256', secret).update(mark).digest('hex');

/** Returns the forgotten persons that a record names. */
function findForgottenPersons(sql: SqlStorage, secret: string, record: Logged): Person[] {
  const marks = new Set(JSON.stringify(record).toLowerCase().match(PERSON_ID_PATTERN));
  const ip = 'ip' in record && typeof record.ip === 'string' ? [record.ip] : [];
  const byDigest = new Map([...marks, ...ip].map((mark) => [computeDigest(secret, mark), mark]));
  const found = selectRows<{ digest: string; pseudonym: string }>(
    sql,
    'SELECT digest, pseudonym FROM forgotten WHERE at >= ? AND digest IN (SELECT value FROM json_each(?))',
    record.occurredAt,
    JSON.stringify([...byDigest.keys()]),
  );
  return [...Map.groupBy(found, ({ pseudonym }) => pseudonym)].map(([pseudonym, rows]) => {
    const known = rows.map(({ digest }) => byDigest.get(digest) as string);
    return {
      ids: known.filter((mark) => !mark.includes('@') && !ip.includes(mark)),
      email: known.find((mark) => mark.includes('@')) ?? '',
      pseudonym,
      ips: known.filter((mark) => ip.includes(mark)),
    };
  });
}
