import type { CompanyContext, Context } from '../../context.ts';
import type { Quota, Quotas } from '../../db/schema/companies.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { logError } from '../../platform/log.ts';
import { buildNeonApi, type NeonApi } from '../../platform/neon.ts';
import { openTenantSql, type TenantSql, type TenantSqlOptions } from '../../tenant-sql/client.ts';
import { databaseUnavailable } from '../../tenant-sql/failures.ts';
import { makeTenantNames, toPoolerConnection } from '../../tenant-sql/roles.ts';
import { countUse } from '../usage/queries.ts';
import { DataVersions } from './data-versions.ts';
import { databaseNotProvisioned } from './failures.ts';
import { migrateDatabase, TENANT_SCHEMA_VERSION } from './migrations.ts';
import { provisionTenant as provisionDatabase } from './provisioning.ts';
import { getReaderConnections } from './reader-connections.ts';
import { createConnectionCipher, createProvisioningRecord } from './record.ts';
import { openCachedResults, type ResultKind } from './result-cache.ts';
import * as store from './store.ts';
import { isWaking, notifyWaking } from './wake-notice.ts';

export { type AnnounceTables, changeData } from './data-changes.ts';
export { type DataState, DataVersions, type ResultSource, UNKNOWN_TABLES } from './data-versions.ts';
export { reencryptConnections } from './record.ts';
export { type DatabaseSizes, finishSweep, recordSizes, selectDataState } from './store.ts';

/** Whether the company has its Postgres database, the connection's API id, and whether a request waits for it to wake. */
export interface DatabaseStatus {
  provisioned: boolean;
  connection_id: string | null;
  waking?: true;
}

/** The id and the two connection strings of a provisioned database. Secret. */
interface DatabaseConnection {
  id: string;
  ownerConnectionString: string;
  readerConnectionString: string;
  /** The versions of the company's tables. */
  versions: DataVersions;
  quotas: Quotas;
}

/** The connection strings that a context has read, and its open connections. */
interface OpenConnections {
  connection: Promise<DatabaseConnection | null>;
  ownerConnection?: TenantSql;
  /** The connection through the pooler, under the same login. */
  pooledConnection?: TenantSql;
  /** Resolves when the database makes a connection wait. */
  wakingSignal: PromiseWithResolvers<void>;
}

const connectionsByContext = new WeakMap<Context, OpenConnections>();

/**
 * Provisions the company's Postgres unless that is done: concurrent or repeated calls create only one. The next call continues
 * with what a failed call created.
 */
export async function activateDatabase(ctx: CompanyContext): Promise<DatabaseStatus> {
  const { companyId } = ctx.actor;
  const storedConnection = await getConnection(ctx);
  if (storedConnection) return readDatabaseStatus(ctx);
  await store.ensureDatabase(ctx.db, { id: ctx.newId(), companyId, now: ctx.now() });
  await provisionDatabase(createProvisioningRecord(ctx), {
    companyId,
    neon: createNeonApi(ctx),
    sql: getSqlOptions(ctx),
  });
  connectionsByContext.delete(ctx);
  return readDatabaseStatus(ctx);
}

const createNeonApi = ({ config }: Context): NeonApi =>
  buildNeonApi({
    apiUrl: config.NEON_API_URL,
    apiKey: config.NEON_API_KEY,
    organization: config.NEON_ORG_ID,
    region: config.NEON_REGION,
    historySeconds: config.NEON_HISTORY_SECONDS,
    computeUnits: { min: config.NEON_MIN_CU, max: config.NEON_MAX_CU },
  });

/** The longest time for deleting a project, retries included: Neon refuses while another operation is running. */
const MAX_DELETION_MS = 30_000;

/**
 * Deletes the company's projects at Neon, for good: the stored one, and others with its name, left by an interrupted
 * provisioning. A project that is already deleted is no error. @returns the number of deleted projects
 */
export async function deleteDatabase(ctx: CompanyContext): Promise<number> {
  const { companyId } = ctx.actor;
  const deadline = Date.now() + MAX_DELETION_MS;
  const neon = createNeonApi(ctx);
  const storedProjectId = (await store.readDatabase(ctx.db, companyId))?.neonProjectId ?? null;
  let deletedCount = storedProjectId !== null && (await neon.deleteProject(storedProjectId, deadline)) ? 1 : 0;
  for (let tryCount = 0; tryCount < MAX_PROJECTS; tryCount += 1) {
    const foundProject = await neon.findProject(makeTenantNames(companyId).project, deadline);
    if (foundProject === null) return deletedCount;
    if (await neon.deleteProject(foundProject, deadline)) deletedCount += 1;
  }
  throw new Error('the company’s projects are still listed');
}

/** The maximum number of projects of a company deleted by one call: there is one, unless a response of Neon was lost. */
const MAX_PROJECTS = 5;

/** Tells whether Neon has a project of the company. */
export const hasDatabase = async (ctx: CompanyContext): Promise<boolean> =>
  (await createNeonApi(ctx).findProject(makeTenantNames(ctx.actor.companyId).project, Date.now() + MAX_DELETION_MS)) !==
  null;

/** Returns whether provisioning is finished; while it is running it counts as not provisioned. */
export async function readDatabaseStatus(ctx: CompanyContext): Promise<DatabaseStatus> {
  const id = await readConnectionId(ctx);
  const isDatabaseWaking = id !== null && (await isWaking(ctx));
  return { provisioned: id !== null, connection_id: id, ...(isDatabaseWaking && { waking: isDatabaseWaking }) };
}

/** Returns the id of the company's connection, null before provisioning. */
export async function readConnectionId(ctx: CompanyContext): Promise<string | null> {
  return (await getConnection(ctx))?.id ?? null;
}

/** Opens the cached results of the current data for `kind`. @param key a digest of everything else that they depend on */
export const getCachedResults = (ctx: CompanyContext, kind: ResultKind, key: string) =>
  openCachedResults(ctx, async () => (await getConnection(ctx))?.versions ?? null, kind, key);

/** Resolves when the sleeping database makes a connection of the context wait; otherwise never. */
export const waitUntilWaking = (ctx: CompanyContext): Promise<void> => getOpenConnections(ctx).wakingSignal.promise;

/** Opens the company's Postgres under the service's login, one connection per context; undefined before provisioning. */
export async function openDatabaseIfAny(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  if (!connection) return undefined;
  const openConnections = getOpenConnections(ctx);
  openConnections.ownerConnection ??= openConnection(ctx, connection.ownerConnectionString);
  return openConnections.ownerConnection;
}

/**
 * Opens the database like `openDatabaseIfAny`, for statements that only read: through the pooler, where a burst of them costs the
 * database no connections, unless the context has a connection of its own already.
 */
export async function openDatabaseToRead(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  if (!connection) return undefined;
  const openConnections = getOpenConnections(ctx);
  if (openConnections.ownerConnection) return openConnections.ownerConnection;
  openConnections.pooledConnection ??= openConnection(ctx, toPoolerConnection(connection.ownerConnectionString));
  return openConnections.pooledConnection;
}

export async function requireDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const database = await openDatabaseIfAny(ctx);
  if (!database) throw databaseNotProvisioned();
  return database;
}

/**
 * Opens a connection under the service's own login that outlives the request: the caller must close it. Undefined before
 * provisioning.
 */
export async function openLastingDatabase(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  return connection ? openTenantSql(connection.ownerConnectionString, getSqlOptions(ctx)) : undefined;
}

/**
 * Opens the company's Postgres under the login for user SQL, which may read tables of schema `public` only. Each call
 * opens a new connection, for statements that run in parallel; it waits while the isolate has many of the company's.
 */
export async function openReadonlyDatabase(ctx: CompanyContext): Promise<TenantSql> {
  const connection = await getConnection(ctx);
  if (!connection) throw databaseNotProvisioned();
  const release = await getReaderConnections(ctx).acquire();
  if (!release) throw databaseUnavailable().addCause(new Error('too many statements wait for a connection'));
  return openConnection(ctx, toPoolerConnection(connection.readerConnectionString), release);
}

/** Opens one more connection like `openReadonlyDatabase`; undefined while other statements wait for one. */
export async function openAnotherReadonlyDatabase(ctx: CompanyContext): Promise<TenantSql | undefined> {
  const connection = await getConnection(ctx);
  const release = getReaderConnections(ctx).tryAcquire();
  return connection && release
    ? openConnection(ctx, toPoolerConnection(connection.readerConnectionString), release)
    : undefined;
}

/** Schedules the sweep of the company's Postgres at `dueAt` (ms) or earlier. */
export async function scheduleSweep(ctx: CompanyContext, dueAt: number): Promise<void> {
  await store.scheduleSweep(ctx.db, ctx.actor.companyId, dueAt);
}

/** The longest time of a sweep, after which another run starts the sweep again. Milliseconds. */
const MAX_SWEEP_MS = MINUTE_MS;

/** Claims the databases whose sweep is due, so that only one run sweeps each. */
export async function claimDueDatabases(ctx: Pick<Context, 'db' | 'now'>, limit: number) {
  const now = ctx.now();
  return store.claimDueRows(ctx.db, { now, nextSweepAt: now + MAX_SWEEP_MS, limit });
}

/** Returns the company's quota of its Postgres or its files; undefined for no limit. */
export const readQuota = async (ctx: CompanyContext, quota: Quota): Promise<number | undefined> =>
  (await getConnection(ctx))?.quotas[quota];

function getOpenConnections(ctx: CompanyContext): OpenConnections {
  let openConnections = connectionsByContext.get(ctx);
  if (!openConnections) {
    openConnections = { connection: readConnection(ctx), wakingSignal: Promise.withResolvers() };
    connectionsByContext.set(ctx, openConnections);
  }
  return openConnections;
}

const getConnection = (ctx: CompanyContext): Promise<DatabaseConnection | null> => getOpenConnections(ctx).connection;

async function readConnection(ctx: CompanyContext): Promise<DatabaseConnection | null> {
  const row = await store.readDatabase(ctx.db, ctx.actor.companyId);
  if (row?.status !== 'ready' || row.ownerConnection === null || row.readonlyConnection === null) return null;
  const cipher = createConnectionCipher(ctx);
  const [owner, reader] = await Promise.all([
    cipher.decrypt(row.ownerConnection),
    cipher.decrypt(row.readonlyConnection),
  ]);
  if (row.migrationsVersion < TENANT_SCHEMA_VERSION) await migrateToCurrentRelease(ctx, owner);
  return {
    id: row.id,
    ownerConnectionString: owner,
    readerConnectionString: reader,
    versions: new DataVersions(row, ctx.now()),
    quotas: row.quotas ?? {},
  };
}

/** Migrates a database that was last used before this release. */
async function migrateToCurrentRelease(ctx: CompanyContext, owner: string): Promise<void> {
  const { companyId } = ctx.actor;
  const sql = openTenantSql(owner, getSqlOptions(ctx));
  try {
    const version = await migrateDatabase(sql, makeTenantNames(companyId).reader);
    await store.recordSchemaVersion(ctx.db, companyId, version, ctx.now());
  } finally {
    await sql.close();
  }
}

function openConnection(ctx: CompanyContext, connectionString: string, onClosed = () => {}): TenantSql {
  const onWaking = (isWaking: boolean) => {
    if (isWaking) getOpenConnections(ctx).wakingSignal.resolve();
    notifyWaking(ctx, isWaking);
  };
  const onUserSql = () => countExecution(ctx);
  const sql = openTenantSql(connectionString, { ...getSqlOptions(ctx), onClosed, onWaking, onUserSql });
  ctx.cleanup(() => {
    removeClosedConnection(getOpenConnections(ctx), sql);
    return sql.close();
  });
  return sql;
}

/** Counts an execution of user SQL: with the usage of its request, or separately if that is recorded already. */
function countExecution(ctx: CompanyContext): void {
  if (!ctx.meter.isRecorded) ctx.meter.executionCount += 1;
  else ctx.defer(countExecutions(ctx, 1).catch((error) => logError('execution_not_counted', error)));
}

/** Counts executions of user SQL today that belong to no request's usage. */
export async function countExecutions(ctx: CompanyContext, count: number): Promise<void> {
  if (count > 0) await countUse(ctx.db, { companyId: ctx.actor.companyId, at: ctx.now() }, 'executions', count);
}

/** Removes a closed connection, so that a context that is used again opens another one. */
function removeClosedConnection(openConnections: OpenConnections, closedConnection: TenantSql): void {
  if (openConnections.ownerConnection === closedConnection) delete openConnections.ownerConnection;
  if (openConnections.pooledConnection === closedConnection) delete openConnections.pooledConnection;
}

const getSqlOptions = ({ config }: CompanyContext): TenantSqlOptions =>
  config.NEON_WS_PROXY === undefined ? {} : { wsProxy: config.NEON_WS_PROXY };

/**
 * Selects the columns of the service's own tables in the company's Postgres that name the user who did something. The staging
 * table of a load, named by an id, has columns of the company's own.
 */
const SELECT_USER_COLUMNS = `SELECT table_name, column_name FROM information_schema.columns
  WHERE table_schema = 'console' AND table_name !~ '^[0-9a-f]{24}$' AND data_type = 'text'
    AND column_name ~ '_by(_user_id)?$' ORDER BY 1, 2`;

type UserColumn = { table_name: string; column_name: string };

/** Counts the tables, uploads and other records in the company's Postgres that these users created. */
export async function countUserRecords(
  ctx: CompanyContext,
  ids: readonly string[],
): Promise<Record<string, unknown>[]> {
  const database = await openDatabaseIfAny(ctx);
  if (!database || ids.length === 0) return [];
  const userRecordCounts: Record<string, unknown>[] = [];
  for (const { table_name: table, column_name: column } of await database.query<UserColumn>(SELECT_USER_COLUMNS)) {
    const countSql = `SELECT count(*)::int AS count FROM console.${table} WHERE ${column} = ANY($1)`;
    const [row] = await database.query<{ count: number }>(countSql, [ids]);
    if (row && row.count > 0) userRecordCounts.push({ kind: table, as: column, count: row.count });
  }
  return userRecordCounts;
}

/** Replaces these users by another id in all records of the company's Postgres. @returns the number of changed rows */
export async function replaceUserIds(ctx: CompanyContext, ids: readonly string[], by: string): Promise<number> {
  const database = await openDatabaseIfAny(ctx);
  if (!database || ids.length === 0) return 0;
  let replacedCount = 0;
  for (const { table_name: table, column_name: column } of await database.query<UserColumn>(SELECT_USER_COLUMNS)) {
    const renameSql = `WITH renamed AS (UPDATE console.${table} SET ${column} = $2 WHERE ${column} = ANY($1) RETURNING 1)
      SELECT count(*)::int AS count FROM renamed`;
    replacedCount += (await database.query<{ count: number }>(renameSql, [ids, by]))[0]?.count ?? 0;
  }
  return replacedCount;
}
