import { ID_PATTERN } from '../kernel/ids.ts';

/** The names in a company's Postgres, with the company's id: roles belong to a server, and companies share a local one. */
export interface TenantNames {
  /** The name of the project at Neon. */
  project: string;
  database: string;
  /** The login of the service itself, which owns the database and everything in it. */
  owner: string;
  /** The login under which user SQL runs; it may read tables of schema `public` only. */
  reader: string;
}

/** Makes the names for a company's id of 24 hexadecimal digits. */
export function makeTenantNames(companyId: string): TenantNames {
  if (!ID_PATTERN.test(companyId)) throw new Error('not a company id');
  return {
    project: `console-${companyId}`,
    database: `console_${companyId}`,
    owner: `console_${companyId}`,
    reader: `reader_${companyId}`,
  };
}

/** The limits of every session of the reader, unless a transaction sets tighter ones. */
const READER_SETTINGS = [
  'default_transaction_read_only = on',
  "statement_timeout = '15s'",
  "lock_timeout = '2s'",
  "idle_in_transaction_session_timeout = '15s'",
  'search_path = public',
];

/**
 * Builds the SQL (several statements, to be run as the owner) that creates the reader with that password, or brings an existing
 * one to the same state. The grants are what confines the reader, since a session can change its own settings: - CONNECT and
 * TEMPORARY are revoked from PUBLIC, so that logins of other databases on the server cannot connect; - the reader has USAGE on
 * schema `public` only, so it can name nothing in `console`, `trash` and `kept`; - it gets SELECT on every table that the owner
 * creates later, also on one that is loaded in `console` first and then moved to `public`; `migrateDatabase` revokes it on the
 * service's own tables. Functions for large objects belong to the server's superuser, so no owner can revoke them from PUBLIC;
 * PostgreSQL rejects them in the read-only transactions that user SQL runs in.
 */
export function buildReaderSetup({ database, owner, reader }: TenantNames, password: string): string {
  if (!/^[A-Za-z0-9_-]{16,}$/.test(password)) throw new Error('the password must be base64url');
  return `
    DO $$ BEGIN
      CREATE ROLE ${reader} LOGIN NOINHERIT;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
    ALTER ROLE ${reader} PASSWORD '${password}' CONNECTION LIMIT 40;
    ${READER_SETTINGS.map((setting) => `ALTER ROLE ${reader} SET ${setting};`).join('\n    ')}
    ALTER DATABASE ${database} SET timezone = 'UTC';
    REVOKE ALL ON DATABASE ${database} FROM PUBLIC;
    GRANT CONNECT ON DATABASE ${database} TO ${reader};
    REVOKE ALL ON SCHEMA public FROM PUBLIC;
    GRANT ALL ON SCHEMA public TO ${owner};
    GRANT USAGE ON SCHEMA public TO ${reader};
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${reader};
    ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} GRANT SELECT ON TABLES TO ${reader};
    ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
  `;
}

export function replaceLogin(connectionString: string, user: string, password: string): string {
  const url = new URL(connectionString);
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(password);
  return url.href;
}

/**
 * Makes the connection string of the same database through Neon's pooler, which lends a connection for each transaction: opening
 * one costs the database nothing, and bursts wait in the pooler. State that outlives a transaction (settings of a session,
 * temporary tables, named statements, advisory locks) does not work through it.
 */
export function toPoolerConnection(connectionString: string): string {
  const url = new URL(connectionString);
  url.hostname = url.hostname.replace(/^([^.]+?)(?:-pooler)?(?=\.)/, '$1-pooler');
  return url.href;
}
