import { newSecretToken } from '../../kernel/ids.ts';
import { type NeonApi, NeonProblem } from '../../platform/neon.ts';
import { isPostgresError, openTenantSql, type TenantSqlOptions } from '../../tenant-sql/client.ts';
import { provisioningFailed, provisioningPending } from '../../tenant-sql/failures.ts';
import { buildReaderSetup, makeTenantNames, replaceLogin, type TenantNames } from '../../tenant-sql/roles.ts';
import { migrateDatabase } from './migrations.ts';

/** The connection data of a company's Postgres. */
export interface TenantConnection {
  /** Id of the project at Neon. */
  projectId: string;
  /** Connection string of the service's own login. Secret. */
  ownerConnectionString: string;
  /** Connection string of the login that user SQL runs under. Secret. */
  readonlyConnectionString: string;
  /** Version of the tenant schema, see `migrateDatabase`. */
  schemaVersion: number;
}

/**
 * The control database's record of one company's provisioning, one object per call of `provisionTenant`. Every method is
 * atomic.
 */
export interface ProvisioningRecord {
  /** Returns the connection of an earlier provisioning, or null. */
  readFinishedConnection(): Promise<TenantConnection | null>;
  /** Acquires the company's lease for a number of milliseconds, unless another call holds a lease that has not expired. */
  acquireLease(milliseconds: number): Promise<boolean>;
  /**
   * Stores `candidate` as the reader's password unless one is stored already, and returns the stored one: calls that crash or run
   * concurrently all set the same password.
   */
  storeReaderPassword(candidate: string): Promise<string>;
  /** Stores the connection if this call still holds the lease; otherwise returns false. */
  storeConnection(connection: TenantConnection): Promise<boolean>;
  /** Releases the lease, if this call still holds it. */
  releaseLease(): Promise<void>;
}

export interface ProvisioningOptions {
  companyId: string;
  neon: NeonApi;
  sql: TenantSqlOptions;
  /** Milliseconds after which a call stops working, or waiting for another call; 90,000 by default. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 90_000;
/** The time by which the lease outlasts the call that holds it. */
const LEASE_MARGIN_MS = 30_000;
const POLL_INTERVAL_MS = 250;
/** The number of searches for a project after an unanswered creation, as Neon may still be creating it. */
const MAX_FIND_ATTEMPTS = 3;
const FIND_PAUSE_MS = 1_000;

/**
 * Provisions a company's Postgres once: the first call creates it, concurrent calls wait for that, later calls get the stored
 * connection. Neon's API has no idempotency key. Therefore the project's name is made from the company's id, only the holder of a
 * lease works, and it looks for the project before it creates one, and after any response that leaves open whether one was
 * created. The next call continues with what a failed call created.
 */
export async function provisionTenant(
  record: ProvisioningRecord,
  options: ProvisioningOptions,
): Promise<TenantConnection> {
  const timeout = options.timeoutMs ?? TIMEOUT_MS;
  const deadline = Date.now() + timeout;
  for (;;) {
    const finishedConnection = await record.readFinishedConnection();
    if (finishedConnection !== null) return finishedConnection;
    if (await record.acquireLease(timeout + LEASE_MARGIN_MS)) break;
    if (Date.now() + POLL_INTERVAL_MS >= deadline) throw provisioningPending();
    await waitMilliseconds(POLL_INTERVAL_MS);
  }

  let isLeaseKept = false;
  try {
    // The lease may be free because another call has finished the work.
    const finishedConnection = await record.readFinishedConnection();
    if (finishedConnection !== null) return finishedConnection;
    const connection = await buildDatabase(record, options, deadline);
    if (await record.storeConnection(connection)) return connection;
    throw provisioningPending();
  } catch (error) {
    // Neon may still carry out an unanswered creation. Until the lease expires nobody creates a second project.
    isLeaseKept = error instanceof UnclearCreationError;
    throw error instanceof NeonProblem || isPostgresError(error) ? provisioningFailed().addCause(error) : error;
  } finally {
    if (!isLeaseKept) await record.releaseLease();
  }
}

async function buildDatabase(
  record: ProvisioningRecord,
  { companyId, neon, sql }: ProvisioningOptions,
  deadline: number,
): Promise<TenantConnection> {
  const names = makeTenantNames(companyId);
  const projectId = await findOrCreateProject(neon, names, deadline);
  await neon.waitUntilReady(projectId, deadline);
  const ownerConnectionString = await neon.getConnectionString(projectId, names.database, names.owner, deadline);
  const password = await record.storeReaderPassword(newSecretToken());

  const owner = openTenantSql(ownerConnectionString, sql);
  try {
    await owner.runInTransaction((tx) => tx.query(buildReaderSetup(names, password)));
    return {
      projectId,
      ownerConnectionString,
      readonlyConnectionString: replaceLogin(ownerConnectionString, names.reader, password),
      schemaVersion: await migrateDatabase(owner, names.reader),
    };
  } finally {
    await owner.close();
  }
}

/** The error for a creation without a proper response, after which the project was not found. */
class UnclearCreationError extends NeonProblem {}

async function findOrCreateProject(neon: NeonApi, names: TenantNames, deadline: number): Promise<string> {
  const foundProject = await neon.findProject(names.project, deadline);
  if (foundProject !== null) return foundProject;
  try {
    return await neon.createProject({ name: names.project, database: names.database, role: names.owner }, deadline);
  } catch (error) {
    if (!(error instanceof NeonProblem && error.hasUnclearOutcome)) throw error;
    for (let attempt = 0; attempt < MAX_FIND_ATTEMPTS; attempt += 1) {
      const createdId = await neon.findProject(names.project, deadline).catch(() => null);
      if (createdId !== null) return createdId;
      await waitMilliseconds(FIND_PAUSE_MS);
    }
    throw new UnclearCreationError(error.message, true, error);
  }
}

const waitMilliseconds = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
