import { getTableName } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { accounts } from './schema/accounts.ts';
import { companies } from './schema/companies.ts';
import { groupBindings, groupPermissions, groupPolicies, groups } from './schema/groups.ts';
import { oauthGrants } from './schema/oauth.ts';
import { permissions, policies } from './schema/policies.ts';
import { apiKeys, serviceAccounts } from './schema/service-accounts.ts';
import { sessions } from './schema/sign-in.ts';
import { users } from './schema/users.ts';

/** Writes to a table that change data an isolate may have cached about a principal. */
interface AccessAffectingWrites {
  table: SQLiteTable;
  /** True if inserted rows change cached data, since they grant or deny access. New principals are not cached yet. */
  insert?: true;
  /** Columns whose updates change cached data; `all` for a table whose every row grants something. */
  updatedColumns: readonly SQLiteColumn[] | 'all';
  /** Pattern of deletions that do not change cached data; without it, all change cached data. */
  harmlessDeletePattern?: RegExp;
}

/** Tables that authentication and access are read from. No other table of the control database affects either. */
const ACCESS_AFFECTING_WRITES: readonly AccessAffectingWrites[] = [
  { table: users, updatedColumns: [users.isActive, users.deletedAt, users.isOwner, users.email, users.name] },
  // An expired session is known to be expired.
  {
    table: sessions,
    updatedColumns: [sessions.endedAt],
    harmlessDeletePattern: /^delete from "sessions" where "sessions"."expires_at" < \?$/,
  },
  // A grant that is not in force yet lets nobody in; one that has expired is known to have.
  {
    table: oauthGrants,
    updatedColumns: [oauthGrants.endedAt, oauthGrants.begunAt, oauthGrants.scopes],
    harmlessDeletePattern: /^delete from "oauth_grants" where "oauth_grants"."expires_at" < \?$/,
  },
  {
    table: apiKeys,
    updatedColumns: [
      apiKeys.isActive,
      apiKeys.expiresAt,
      apiKeys.salt,
      apiKeys.derivationVersion,
      apiKeys.secretDigest,
    ],
  },
  {
    table: serviceAccounts,
    updatedColumns: [
      serviceAccounts.isActive,
      serviceAccounts.deletedAt,
      serviceAccounts.accountId,
      serviceAccounts.name,
    ],
  },
  { table: accounts, updatedColumns: [accounts.isActive, accounts.deletedAt] },
  { table: companies, updatedColumns: [companies.slug, companies.suspendedAt] },
  { table: groups, updatedColumns: [groups.roles, groups.deletedAt] },
  { table: policies, updatedColumns: [policies.document] },
  { table: permissions, updatedColumns: [permissions.target, permissions.actions] },
  { table: groupBindings, insert: true, updatedColumns: 'all' },
  { table: groupPolicies, insert: true, updatedColumns: 'all' },
  { table: groupPermissions, insert: true, updatedColumns: 'all' },
];

const writesByTable = new Map(ACCESS_AFFECTING_WRITES.map((writeRule) => [getTableName(writeRule.table), writeRule]));

/** Pattern of each write in a statement, and of the table that it writes. */
const WRITE_PATTERN =
  /\b(insert(?: or \w+)? into|replace into|update(?! set\b)(?: or \w+)?|delete from)\s+["`]?(\w+)["`]?/gi;

/** Returns true if a statement writes, or may write. */
export const isWriteStatement = (sql: string): boolean => sql.search(WRITE_PATTERN) !== -1;

/** Pattern of the columns that a statement sets, whatever its table. */
const SET_COLUMN_PATTERN = /(?:\bset\s+|,\s*)["`]?(\w+)["`]?\s*=/gi;

const affectsAccessBySql = new Map<string, boolean>();

/** Maximum number of remembered statements: a Worker has some hundreds, and more since those with lists differ in length. */
const MAX_CACHED_STATEMENTS = 2000;

/** Returns true if a statement may change permissions, or which principals exist or are active. */
export function touchesAccess(sql: string): boolean {
  const cachedResult = affectsAccessBySql.get(sql);
  if (cachedResult !== undefined) return cachedResult;
  const isAffecting = [...sql.matchAll(WRITE_PATTERN)].some(([, verb = '', table = '']) =>
    affectsAccess(verb, table, sql),
  );
  if (affectsAccessBySql.size < MAX_CACHED_STATEMENTS) affectsAccessBySql.set(sql, isAffecting);
  return isAffecting;
}

function affectsAccess(verb: string, table: string, sql: string): boolean {
  const rule = writesByTable.get(table);
  if (!rule) return false;
  const kind = verb.toLowerCase();
  if (kind.startsWith('delete')) return !rule.harmlessDeletePattern?.test(sql);
  if (kind.startsWith('replace')) return true;
  if (kind.startsWith('insert') && (rule.insert ?? / or replace /i.test(verb))) return true;
  const isUpdate = kind.startsWith('update') || /\bdo update set\b/i.test(sql);
  return isUpdate && (rule.updatedColumns === 'all' || setsAnyColumn(sql, rule.updatedColumns));
}

function setsAnyColumn(sql: string, columns: readonly SQLiteColumn[]): boolean {
  const setColumns = new Set([...sql.matchAll(SET_COLUMN_PATTERN)].map(([, column]) => column));
  return columns.some(({ name }) => setColumns.has(name));
}

/** Names of the tables that authentication and access are read from. */
export const ACCESS_TABLES: ReadonlySet<string> = new Set(writesByTable.keys());
