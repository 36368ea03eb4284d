import { newSecretToken } from '../kernel/ids.ts';
import { isPostgresError, openTenantSql, type TenantSqlOptions } from './client.ts';
import { withLogin } from './connection.ts';
import { provisioningFailed, provisioningPending } from './failures.ts';
import { migrate } from './migrations.ts';
import { type NeonApi, NeonProblem } from './neon.ts';
import { readerSetup, type TenantNames, tenantNames } from './roles.ts';

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
 * The memory of provisioning for one company, in the control database; one object per call of `provision`.
 * Every method is atomic there.
 */
export interface ProvisioningRecord {
  /** What was finished before, or null. */
  finished(): Promise<TenantConnection | null>;
  /** Takes the company's lease for that many milliseconds, unless another call holds it and it has not run out. */
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

/** What provisioning works with. */
export interface ProvisioningOptions {
  companyId: string;
  neon: NeonApi;
  sql: TenantSqlOptions;
  /** Milliseconds that a call works or waits for another one's work before it gives up; 90,000 by default. */
  patienceMs?: number;
}

const PATIENCE_MS = 90_000;
/** Beyond any call's patience, so that nobody works without holding the lease. */
const LEASE_MARGIN_MS = 30_000;
const POLL_MS = 250;
/** Looks for a project whose creation was not answered, and the pause between them: Neon may still be at it. */
const LOOKS = 3;
const LOOK_PAUSE_MS = 1_000;

/**
 * Gives a company its Postgres, once: the first call makes it, calls at the same time wait for that, later ones get
 * what is recorded. Neon's API has no idempotency key; so the project has a name that follows from the company, one
 * call at a time works (lease), it looks for the project before it makes one and after any answer that leaves
 * it unclear whether one was made, and what it finds it adopts.
 * A call that fails leaves what it made to the next one.
 */
export async function provision(record: ProvisioningRecord, options: ProvisioningOptions): Promise<TenantConnection> {
  const patience = options.patienceMs ?? PATIENCE_MS;
  const deadline = Date.now() + patience;
  for (;;) {
    const finished = await record.finished();
    if (finished !== null) return finished;
    if (await record.acquireLease(patience + LEASE_MARGIN_MS)) break;
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

/** A creation without a proper answer, and no project to be found since. */
class UnclearCreation extends NeonProblem {}

async function findOrCreate(neon: NeonApi, names: TenantNames, deadline: number): Promise<string> {
  const found = await neon.findProject(names.project, deadline);
  if (found !== null) return found;
  try {
    return await neon.createProject({ name: names.project, database: names.database, role: names.owner }, deadline);
  } catch (error) {
    if (!(error instanceof NeonProblem && error.unclear)) throw error;
    for (let look = 0; look < LOOKS; look += 1) {
      const made = await neon.findProject(names.project, deadline).catch(() => null);
      if (made !== null) return made;
      await pause(LOOK_PAUSE_MS);
    }
    throw new UnclearCreation(error.message, true, error);
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
