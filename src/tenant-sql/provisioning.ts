import { newSecretToken } from '../kernel/ids.ts';
import { isPostgresError, openTenantSql, type TenantSqlOptions } from './client.ts';
import { provisioningFailed, provisioningPending } from './failures.ts';
import { migrate } from './migrations.ts';
import { type NeonApi, NeonProblem } from './neon.ts';
import { readerSetup, type TenantNames, tenantNames, withLogin } from './roles.ts';

/** A company's provisioned Postgres. */
export interface TenantConnection {
  /** Id of the project at Neon. */
  projectId: string;
  /** Connection string of the service's own login. Secret. */
  ownerConnectionString: string;
  /** Connection string of the login that user SQL runs under. Secret. */
  readonlyConnectionString: string;
  /** Version of the tenant schema, see `migrate`. */
  schemaVersion: number;
}

/**
 * What the control database records of the provisioning of one company; one object per call of `provision`.
 * Every method is atomic.
 */
export interface ProvisioningRecord {
  /** What was finished before, or null. */
  finished(): Promise<TenantConnection | null>;
  /** Takes the company's lease for that long, unless another call holds one that has not run out. */
  acquireLease(milliseconds: number): Promise<boolean>;
  /**
   * Keeps `candidate` as the reader's password unless one is kept already, and returns the one kept: however many
   * calls crash or overtake each other, they all set the same password.
   */
  keepReaderPassword(candidate: string): Promise<string>;
  /** Stores the connection if this call still holds the lease; false if it does not. */
  finish(connection: TenantConnection): Promise<boolean>;
  /** Gives the lease back, if this call still holds it. */
  releaseLease(): Promise<void>;
}

export interface ProvisioningOptions {
  companyId: string;
  neon: NeonApi;
  sql: TenantSqlOptions;
  /** Milliseconds after which a call gives up its work, or waiting for another's; 90,000 by default. */
  timeoutMs?: number;
}

const TIMEOUT_MS = 90_000;
/** The lease outlasts the call that holds it. */
const LEASE_MARGIN_MS = 30_000;
const POLL_MS = 250;
/** How often we look for a project whose creation was not answered: Neon may still be creating it. */
const FIND_ATTEMPTS = 3;
const FIND_PAUSE_MS = 1_000;

/**
 * Provisions a company's Postgres, once: the first call creates it, calls at the same time wait for that, later ones get
 * what is recorded. Neon's API has no idempotency key; so the project's name is made from the company's id, one call at
 * a time works (it holds the lease), and it looks for the project before it creates one and after any answer that leaves
 * it unclear whether one was created.
 * A call that fails leaves what it made to the next one.
 */
export async function provision(record: ProvisioningRecord, options: ProvisioningOptions): Promise<TenantConnection> {
  const timeout = options.timeoutMs ?? TIMEOUT_MS;
  const deadline = Date.now() + timeout;
  for (;;) {
    const finished = await record.finished();
    if (finished !== null) return finished;
    if (await record.acquireLease(timeout + LEASE_MARGIN_MS)) break;
    if (Date.now() + POLL_MS >= deadline) throw provisioningPending();
    await pause(POLL_MS);
  }

  let keepLease = false;
  try {
    // The lease may have come free because the work was finished in the meantime.
    const finished = await record.finished();
    if (finished !== null) return finished;
    const connection = await build(record, options, deadline);
    if (await record.finish(connection)) return connection;
    throw provisioningPending();
  } catch (error) {
    // An unanswered creation may still come true; until the lease runs out nobody makes a second one.
    keepLease = error instanceof UnclearCreation;
    throw error instanceof NeonProblem || isPostgresError(error) ? provisioningFailed().because(error) : error;
  } finally {
    if (!keepLease) await record.releaseLease();
  }
}

async function build(
  record: ProvisioningRecord,
  { companyId, neon, sql }: ProvisioningOptions,
  deadline: number,
): Promise<TenantConnection> {
  const names = tenantNames(companyId);
  const projectId = await findOrCreate(neon, names, deadline);
  await neon.waitUntilReady(projectId, deadline);
  const ownerConnectionString = await neon.connectionString(projectId, names.database, names.owner, deadline);
  const password = await record.keepReaderPassword(newSecretToken());

  const owner = openTenantSql(ownerConnectionString, sql);
  try {
    await owner.transaction((tx) => tx.query(readerSetup(names, password)));
    return {
      projectId,
      ownerConnectionString,
      readonlyConnectionString: withLogin(ownerConnectionString, names.reader, password),
      schemaVersion: await migrate(owner, names.reader),
    };
  } finally {
    await owner.close();
  }
}

/** A creation without a proper answer, and no project found since. */
class UnclearCreation extends NeonProblem {}

async function findOrCreate(neon: NeonApi, names: TenantNames, deadline: number): Promise<string> {
  const found = await neon.findProject(names.project, deadline);
  if (found !== null) return found;
  try {
    return await neon.createProject({ name: names.project, database: names.database, role: names.owner }, deadline);
  } catch (error) {
    if (!(error instanceof NeonProblem && error.unclear)) throw error;
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt += 1) {
      const created = await neon.findProject(names.project, deadline).catch(() => null);
      if (created !== null) return created;
      await pause(FIND_PAUSE_MS);
    }
    throw new UnclearCreation(error.message, true, error);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
