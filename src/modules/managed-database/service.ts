import type { CompanyContext, Context } from '../../context.ts';
import type { Quota, Quotas } from '../../db/schema/companies.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { type NeonApi, neonApi } from '../../platform/neon.ts';
import { openTenantSql, type TenantSql, type TenantSqlOptions } from '../../tenant-sql/client.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { tenantNames, throughPooler } from '../../tenant-sql/roles.ts';
import { countUse } from '../usage/queries.ts';
import { DataVersions } from './data-versions.ts';
import { notProvisioned } from './failures.ts';
import { CachedResults } from './kept-results.ts';
import { migrateDatabase, TENANT_SCHEMA_VERSION } from './migrations.ts';
import { provision as provisionDatabase } from './provisioning.ts';
import { getReaderConnections } from './reader-connections.ts';
import { createConnectionCipher, createProvisioningRecord } from './record.ts';
import * as store from './store.ts';
import { isWaking, noteWaking } from './waking.ts';

export { type AnnounceTables, changeData } from './data-changes.ts';
export { type DataState, DataVersions, type ResultSource, UNKNOWN_TABLES } from './data-versions.ts';
export { renewConnections } from './record.ts';
export { recordSizes, type Sizes, selectDataState } from './store.ts';

/** Whether the company has its Postgres, the connection's id in the API, and whether a request waits for it to wake. */
export interface DatabaseStatus {
  provisioned: boolean;
  connection_id: string | null;
  waking?: true;
}

/** The id and the two connection strings of a provisioned database. Secret. */
interface Connection {
  id: string;
  owner: string;
  reader: string;
  /** The versions of the company's tables. */
  versions: DataVersions;
  quotas: Quotas;
}

/** The connection strings that a context has read, and the connections it has open. */
interface OpenConnections {
  connection: Promise<Connection | null>;
  owner?: TenantSql;
  /** The connection through the pooler, under the same login. */
  reading?: TenantSql;
  /** Resolves when the database makes a connection wait. */
  waking: PromiseWithResolvers<void>;
}

const connectionsByContext = new WeakMap<Context, OpenConnections>();

/**
 * Provisions the company's Postgres unless that is done: concurrent or repeated calls create only one. The next call
 * continues with what a failed call created.
 */
export async function provision(ctx: CompanyContext): Promise<DatabaseStatus> {
  const { companyId } = ctx.actor;
  const known = await getConnection(ctx);
  if (known) return readStatus(ctx);
  await store.ensureDatabase(ctx.db, { id: ctx.newId(), companyId, now: ctx.now() });
  await provisionDatabase(createProvisioningRecord(ctx), {
    companyId,
    neon: createNeonApi(ctx),
    sql: getSqlOptions(ctx),
  });
  connectionsByContext.delete(ctx);
  return readStatus(ctx);
}

const createNeonApi = ({ config }: Context): NeonApi =>
  neonApi({
    apiUrl: config.NEON_API_URL,
    apiKey: config.NEON_API_KEY,
    organization: config.NEON_ORG_ID,
    region: config.NEON_REGION,
    historySeconds: config.NEON_HISTORY_SECONDS,
    computeUnits: { min: config.NEON_MIN_CU, max: config.NEON_MAX_CU },
  });

/** The longest time for deleting a project, retries included: Neon refuses while another operation is under way. */
const DELETION_MS = 30_000;

/**
 * Deletes the company's projects at Neon, for good: the recorded one, and others of its name, left by an interrupted
 * provisioning. A project that is gone already is no error.
 * @returns the number of deleted projects
 */
export async function deleteDatabase(ctx: CompanyContext): Promise<number> {
  const { companyId } = ctx.actor;
  const deadline = Date.now() + DELETION_MS;
  const neon = createNeonApi(ctx);
  const recorded = (await store.readDatabase(ctx.db, companyId))?.neonProjectId ?? null;
  let deleted = recorded !== null && (await neon.deleteProject(recorded, deadline)) ? 1 : 0;
  for (let tries = 0; tries < MAX_PROJECTS; tries += 1) {
    const found = await neon.findProject(tenantNames(companyId).project, deadline);
    if (found === null) return deleted;
    if (await neon.deleteProject(found, deadline)) deleted += 1;
  }
  throw new Error('the company’s projects are still listed');
}

/** The maximum number of projects of a company that one call deletes: there is one, unless an answer of Neon was lost. */
const MAX_PROJECTS = 5;

/** Whether Neon has a project of the company. */
export const hasDatabase = async (ctx: CompanyContext): Promise<boolean> =>
  (await createNeonApi(ctx).findProject(tenantNames(ctx.actor.companyId).project, Date.now() + DELETION_MS)) !== null;

/** Whether provisioning is finished; while it is under way the answer is no. */
export async function readStatus(ctx: CompanyContext): Promise<DatabaseStatus> {
  const id = await readConnectionId(ctx);
  const waking = id !== null && (await isWaking(ctx));
  return { provisioned: id !== null, connection_id: id, ...(waking && { waking }) };
}

/** The id of the company's connection, null before provisioning. */
export async function readConnectionId(ctx: CompanyContext): Promise<string | null> {
  return (await getConnection(ctx))?.id ?? null;
}

/** The versions of the company's tables, as the context read them before it read any table. */
async function readDataVersions(ctx: CompanyContext): Promise<DataVersions | null> {
  return (await getConnection(ctx))?.versions ?? null;
}

/** The cached results of the present data for `kind`. @param key a digest of everything else that they depend on */
export const openCachedResults = (
  ctx: CompanyContext,
  kind: 'last-results' | 'data-results',
  key: string,
): CachedResults => new CachedResults(ctx, readDataVersions, kind, key);

/** Resolves when the database, which has slept, makes a connection of the context wait; otherwise never. */
export const waitUntilWaking = (ctx: CompanyContext): Promise<void> => getOpened(ctx).waking.promise;

/** The company's Postgres under the service's own login, one connection per context; undefined before provisioning. */
export async function openDatabaseIfAny(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  if (!connection) return undefined;
  const opened = getOpened(ctx);
  opened.owner ??= openConnection(ctx, connection.owner);
  return opened.owner;
}

/**
 * As `openDatabaseIfAny`, for statements that only read: through the pooler, where a burst of them costs the database no connections,
 * unless the context has a connection of its own already.
 */
export async function openDatabaseToRead(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  if (!connection) return undefined;
  const opened = getOpened(ctx);
  if (opened.owner) return opened.owner;
  opened.reading ??= openConnection(ctx, throughPooler(connection.owner));
  return opened.reading;
}

export async function requireDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw notProvisioned();
  return database;
}

/**
 * Opens a connection under the service's own login that outlives the request: the caller must close it. Undefined before
 * provisioning.
 */
export async function openLastingDatabase(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  return connection ? openTenantSql(connection.owner, getSqlOptions(ctx)) : undefined;
}

/**
 * Opens the company's Postgres under the login for user SQL, which may read tables of schema `public` only. Each call
 * opens a new connection, for statements that run in parallel; it waits while the isolate has many of the company's.
 */
export async function openReadonlyDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const connection = await getConnection(ctx);
  if (!connection) throw notProvisioned();
  const release = await getReaderConnections(ctx).acquire();
  if (!release) throw databaseUnavailable().because(new Error('too many statements wait for a connection'));
  return openConnection(ctx, throughPooler(connection.reader), release);
}

/** Opens one more connection, as `openReadonlyDatabase` does; undefined while other statements wait for one. */
export async function openAnotherReadonlyDatabase(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  const release = getReaderConnections(ctx).tryAcquire();
  return connection && release ? openConnection(ctx, throughPooler(connection.reader), release) : undefined;
}

/** Schedules the sweep of the company's Postgres at `dueAt` (ms) or before. */
export async function scheduleSweep(ctx: CompanyContext, dueAt: number): Promise<void> {
  await store.scheduleSweep(ctx.db, ctx.actor.companyId, dueAt);
}

/** A database whose sweep is due. `marks` shows `finishSweep` whether another sweep was scheduled meanwhile. */
export interface DueDatabase {
  companyId: string;
  marks: number;
}

/** The longest time of a sweep, after which another run starts it again. Milliseconds. */
const SWEEP_MS = MINUTE_MS;

/** Claims the databases whose sweep is due, so that only one run sweeps each. */
export async function claimDueDatabases(ctx: Pick<Context, 'db' | 'now'>, limit: number): Promise<DueDatabase[]> {
  const now = ctx.now();
  return store.claimDue(ctx.db, { now, next: now + SWEEP_MS, limit });
}

/**
 * Ends a sweep, and schedules the next one at `next` (ms), or none if null; one that was scheduled meanwhile stays.
 * @param sizes the sizes that the sweep has measured
 */
export async function finishSweep(
  ctx: Pick<Context, 'db'>,
  swept: DueDatabase,
  next: number | null,
  sizes?: store.Sizes,
): Promise<void> {
  await store.finishSweep(ctx.db, swept.companyId, swept.marks, next, sizes);
}

/** The company's quota of its Postgres or its files; undefined for no limit. */
export const readQuota = async (ctx: CompanyContext, quota: Quota): Promise<number | undefined> =>
  (await getConnection(ctx))?.quotas[quota];

function getOpened(ctx: CompanyContext): OpenConnections {
  let opened = connectionsByContext.get(ctx);
  if (!opened) {
    opened = { connection: readConnection(ctx), waking: Promise.withResolvers() };
    connectionsByContext.set(ctx, opened);
  }
  return opened;
}

const getConnection = (ctx: CompanyContext): Promise<Connection | null> => getOpened(ctx).connection;

async function readConnection(ctx: CompanyContext): Promise<Connection | null> {
  const row = await store.readDatabase(ctx.db, ctx.actor.companyId);
  if (row?.status !== 'ready' || row.ownerConnection === null || row.readonlyConnection === null) return null;
  const cipher = createConnectionCipher(ctx);
  const [owner, reader] = await Promise.all([
    cipher.decrypt(row.ownerConnection),
    cipher.decrypt(row.readonlyConnection),
  ]);
  if (row.migrationsVersion < TENANT_SCHEMA_VERSION) await migrateToRelease(ctx, owner);
  return { id: row.id, owner, reader, versions: new DataVersions(row, ctx.now()), quotas: row.quotas ?? {} };
}

/** Migrates a database that was last used before this release. */
async function migrateToRelease(ctx: CompanyContext, owner: string): Promise<void> {
  const { companyId } = ctx.actor;
  const sql = openTenantSql(owner, getSqlOptions(ctx));
  try {
    const version = await migrateDatabase(sql, tenantNames(companyId).reader);
    await store.recordMigration(ctx.db, companyId, version, ctx.now());
  } finally {
    await sql.close();
  }
}

function openConnection(ctx: CompanyContext, connectionString: string, onClosed = () => {}): TenantSql {
  const onWaking = (isWaking: boolean) => {
    if (isWaking) getOpened(ctx).waking.resolve();
    noteWaking(ctx, isWaking);
  };
  const onUserSql = () => noteExecution(ctx);
  const sql = openTenantSql(connectionString, { ...getSqlOptions(ctx), onClosed, onWaking, onUserSql });
  ctx.cleanup(() => {
    forgetConnection(getOpened(ctx), sql);
    return sql.close();
  });
  return sql;
}

/** Counts an execution of people's SQL: with the usage of its request, or by itself if that is recorded already. */
function noteExecution(ctx: CompanyContext): void {
  if (!ctx.meter.isTold) ctx.meter.executions += 1;
  else ctx.defer(countExecutions(ctx, 1).catch((error) => logError('execution_not_counted', error)));
}

/** Counts executions of people's SQL today that belong to no request's usage. */
export async function countExecutions(ctx: CompanyContext, count: number): Promise<void> {
  if (count > 0) await countUse(ctx.db, { companyId: ctx.actor.companyId, at: ctx.now() }, 'executions', count);
}

/** Removes a closed connection, so that a context that is used again opens another one. */
function forgetConnection(opened: OpenConnections, closed: TenantSql): void {
  if (opened.owner === closed) delete opened.owner;
  if (opened.reading === closed) delete opened.reading;
}

const getSqlOptions = ({ config }: CompanyContext): TenantSqlOptions =>
  config.NEON_WS_PROXY === undefined ? {} : { wsProxy: config.NEON_WS_PROXY };

/** Selects the columns of the service's own tables in the company's Postgres that name the user who did something. */
const SELECT_USER_COLUMNS = `SELECT table_name, column_name FROM information_schema.columns
  WHERE table_schema = 'console' AND data_type = 'text' AND column_name ~ '_by(_user_id)?$' ORDER BY 1, 2`;

type UserColumn = { table_name: string; column_name: string };

/** Counts the tables, uploads and other records in the company's Postgres that these users made. */
export async function countUserRecords(
  ctx: CompanyContext,
  ids: readonly string[],
): Promise<Record<string, unknown>[]> {
  const database = await openDatabaseIfAny(ctx);
  if (!database || ids.length === 0) return [];
  const found: Record<string, unknown>[] = [];
  for (const { table_name: table, column_name: column } of await database.query<UserColumn>(SELECT_USER_COLUMNS)) {
    const named = `SELECT count(*)::int AS count FROM console.${table} WHERE ${column} = ANY($1)`;
    const [row] = await database.query<{ count: number }>(named, [ids]);
    if (row && row.count > 0) found.push({ kind: table, as: column, count: row.count });
  }
  return found;
}

/** Replaces these users by another id in all records of the company's Postgres. @returns the number of changed rows */
export async function replaceUserIds(ctx: CompanyContext, ids: readonly string[], by: string): Promise<number> {
  const database = await openDatabaseIfAny(ctx);
  if (!database || ids.length === 0) return 0;
  let replaced = 0;
  for (const { table_name: table, column_name: column } of await database.query<UserColumn>(SELECT_USER_COLUMNS)) {
    const renaming = `WITH renamed AS (UPDATE console.${table} SET ${column} = $2 WHERE ${column} = ANY($1) RETURNING 1)
      SELECT count(*)::int AS count FROM renamed`;
    replaced += (await database.query<{ count: number }>(renaming, [ids, by]))[0]?.count ?? 0;
  }
  return replaced;
}
