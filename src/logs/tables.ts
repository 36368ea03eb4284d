import { selectRows } from '../platform/objects.ts';
import { LOG_KINDS, type LogFilterField, type LogKind, type LogRecord } from './log.ts';

/** The tables, folder and fields for one kind of records in a company's log. */
interface LogTable<K extends LogKind> {
  /** The prefix of the names of the kind's tables. */
  tablePrefix: string;
  /** The folder in R2, within the company's folder. */
  folder: string;
  /** The fields of a record besides its key, each a column of the same name. */
  fields: readonly Exclude<keyof LogRecord<K>, 'id' | 'occurredAt' | 'used'>[];
  /** The fields by which a list may be filtered. */
  filterFields: readonly LogFilterField[K][];
  /** The fields that are stored as JSON. */
  jsonFields: readonly string[];
}

export const LOG_TABLES: { [K in LogKind]: LogTable<K> } = {
  audit: {
    tablePrefix: 'audit_records',
    folder: 'audit-events',
    fields: [
      'correlationId',
      'principalType',
      'principalId',
      'credential',
      'method',
      'route',
      'action',
      'resourceId',
      'status',
      'ip',
      'durationMs',
      'count',
    ],
    filterFields: ['correlationId', 'principalId', 'action'],
    jsonFields: [],
  },
  share: {
    tablePrefix: 'share_events',
    folder: 'share-events',
    fields: [
      'type',
      'actorKind',
      'actorId',
      'actorEmail',
      'targetType',
      'targetId',
      'shareId',
      'shareContextId',
      'ipCountry',
      'userAgent',
      'origin',
      'correlationId',
      'viewer',
      'details',
    ],
    filterFields: ['type', 'targetType', 'shareId', 'shareContextId'],
    jsonFields: ['details'],
  },
};

/** Returns the columns of a kind as SQL, its key first. */
export const listColumns = (kind: LogKind): string => ['occurredAt', 'id', ...LOG_TABLES[kind].fields].join(', ');

/** Returns the names of all tables of a database. */
export const listTableNames = (sql: SqlStorage): string[] =>
  selectRows<{ name: string }>(sql, "SELECT name FROM sqlite_master WHERE type = 'table'").map(({ name }) => name);

/** Returns the name of the table for late records of days already moved, until they are merged into the files. */
export const formatLateTable = (kind: LogKind): string => `late_${LOG_TABLES[kind].tablePrefix}`;

/** Creates a table of records, clustered by time and id; without a second index, storing a record writes one row. */
export function createTable(sql: SqlStorage, kind: LogKind, name: string): void {
  sql.exec(`CREATE TABLE IF NOT EXISTS ${name} (occurredAt INTEGER NOT NULL, id TEXT NOT NULL,
    ${LOG_TABLES[kind].fields.join(', ')}, PRIMARY KEY (occurredAt, id)) WITHOUT ROWID`);
}

/** Creates all tables except those of days (`day-tables.ts`). */
export function createTables(sql: SqlStorage): void {
  for (const kind of LOG_KINDS) createTable(sql, kind, formatLateTable(kind));
  // What was moved to R2: a part is a file with records of one day, which lie between its first and its last.
  sql.exec(`CREATE TABLE IF NOT EXISTS parts (
    kind TEXT NOT NULL, lastAt INTEGER NOT NULL, lastId TEXT NOT NULL, firstAt INTEGER NOT NULL, firstId TEXT NOT NULL,
    file TEXT NOT NULL, version INTEGER NOT NULL, records INTEGER NOT NULL, contents TEXT NOT NULL,
    PRIMARY KEY (kind, lastAt, lastId)) WITHOUT ROWID`);
  // The last record that was moved: what comes later and is not behind it, is late.
  sql.exec(
    'CREATE TABLE IF NOT EXISTS moved (kind TEXT PRIMARY KEY, at INTEGER NOT NULL, id TEXT NOT NULL) WITHOUT ROWID',
  );
  // How many records past days have, once somebody has asked.
  sql.exec(`CREATE TABLE IF NOT EXISTS days (
    kind TEXT NOT NULL, day INTEGER NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (kind, day)) WITHOUT ROWID`);
  // Files that no part names any more, which somebody may still be reading.
  sql.exec('CREATE TABLE IF NOT EXISTS leftovers (file TEXT PRIMARY KEY, deleteAt INTEGER NOT NULL) WITHOUT ROWID');
  // Views of shares that this log has counted, and those of the time before it.
  sql.exec(`CREATE TABLE IF NOT EXISTS share_views (
    shareId TEXT PRIMARY KEY, viewCount INTEGER NOT NULL, before INTEGER NOT NULL, lastAccessedAt INTEGER NOT NULL
    ) WITHOUT ROWID`);
}
