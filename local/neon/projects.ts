import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { Problem } from '../../operations/problem.ts';
import { writeSecretFile } from '../../operations/secret-file.ts';

/** Stored project: a database with its owner role in the local PostgreSQL. Times in ISO 8601. */
export interface NeonProject {
  id: string;
  name: string;
  regionId: string;
  /** Seconds of history from which the project can be restored. */
  historySeconds: number;
  /** Minimum size of the project's compute, in Neon's compute units. */
  minUnits: number;
  maxUnits: number;
  branchId: string;
  endpointId: string;
  /** Host name of the endpoint, the same after every restart. */
  host: string;
  database: string;
  role: string;
  password: string;
  createdAt: string;
  operations: { id: string; action: 'create_timeline' | 'start_compute'; endsAt: number }[];
}

/** Error thrown when another project already uses the name: roles and databases of all projects are on one local server. */
export class NameTakenError extends Error {}

const makeHex = (bytes: number): string => randomBytes(bytes).toString('hex');

/** Projects of the local Neon: listed in a file, with a database each in PostgreSQL. */
export class NeonProjects {
  readonly #file: string;
  readonly #superuserUrl: string;
  #projects: NeonProject[];
  #savingPromise: Promise<void> = Promise.resolve();

  constructor(file: string, superuserUrl: string) {
    this.#file = file;
    this.#superuserUrl = superuserUrl;
    this.#projects = readProjects(file);
  }

  /** Lists all projects, newest first, like Neon's list. */
  list(): NeonProject[] {
    return [...this.#projects].reverse();
  }

  get(id: string): NeonProject | undefined {
    return this.#projects.find((project) => project.id === id);
  }

  findByHost(host: string): NeonProject | undefined {
    return this.#projects.find((project) => project.host === host);
  }

  /** Creates role and database, then stores the project. Its operations run for `operationsMs`. @throws NameTakenError */
  async create(
    newProject: Pick<
      NeonProject,
      'name' | 'database' | 'role' | 'regionId' | 'historySeconds' | 'minUnits' | 'maxUnits'
    >,
    operationsMs: number,
  ) {
    const password = `npg_${randomBytes(12).toString('base64url')}`;
    await this.#runAsSuperuser(async (client) => {
      await makeRoleAndDatabase(client, newProject.role, password, newProject.database);
    });
    const suffix = makeHex(4);
    const endpointId = `ep-local-${suffix}`;
    const endsAt = Date.now() + operationsMs;
    const project: NeonProject = {
      id: `local-${suffix}`,
      ...newProject,
      branchId: `br-local-${suffix}`,
      endpointId,
      host: `${endpointId}.neon.localhost`,
      password,
      createdAt: new Date().toISOString(),
      operations: [
        { id: randomUUID(), action: 'create_timeline', endsAt },
        { id: randomUUID(), action: 'start_compute', endsAt },
      ],
    };
    this.#projects.push(project);
    await this.#save();
    return project;
  }

  /** Drops the database, its owner, and the roles that the owner created. */
  async delete(project: NeonProject): Promise<void> {
    await this.#runAsSuperuser(async (client) => {
      await client.query(`DROP DATABASE IF EXISTS ${escapeIdentifier(project.database)} WITH (FORCE)`);
      const createdRoles = await client.query<{ name: string }>(
        `SELECT r.rolname AS name FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.roleid
         WHERE m.member = (SELECT oid FROM pg_roles WHERE rolname = $1) AND m.admin_option`,
        [project.role],
      );
      for (const name of [...createdRoles.rows.map((row) => row.name), project.role]) {
        await client.query(`DROP ROLE IF EXISTS ${escapeIdentifier(name)}`);
      }
    });
    this.#projects = this.#projects.filter((otherProject) => otherProject !== project);
    await this.#save();
  }

  async #runAsSuperuser(work: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client({ connectionString: this.#superuserUrl });
    await client.connect();
    try {
      await work(client);
    } finally {
      await client.end();
    }
  }

  /** Writes the list to a new file and renames it, one write at a time: a crash leaves the old or the new list. */
  #save(): Promise<void> {
    this.#savingPromise = this.#savingPromise.then(async () => {
      await writeSecretFile(this.#file, `${JSON.stringify(this.#projects, null, 2)}\n`);
    });
    return this.#savingPromise;
  }
}

function readProjects(file: string): NeonProject[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  try {
    return JSON.parse(text) as NeonProject[];
  } catch (cause) {
    throw new Problem(`The file ${file} is not readable as JSON: delete the whole state folder to begin anew.`, {
      cause,
    });
  }
}

/**
 * Creates a role and a database that the role owns. The role belongs to `neon_superuser`, like roles created through Neon's
 * API: it has many rights, but is not a superuser.
 * @throws NameTakenError
 */
async function makeRoleAndDatabase(client: Client, role: string, password: string, database: string): Promise<void> {
  await client.query(`DO $$ BEGIN
    CREATE ROLE neon_superuser NOLOGIN CREATEDB CREATEROLE BYPASSRLS;
    GRANT pg_read_all_data, pg_write_all_data, pg_monitor TO neon_superuser;
  EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`);
  try {
    await client.query(
      `CREATE ROLE ${escapeIdentifier(role)} LOGIN CREATEDB CREATEROLE BYPASSRLS PASSWORD ${escapeLiteral(password)}
       IN ROLE neon_superuser`,
    );
  } catch (error) {
    if (isNameTaken(error)) throw new NameTakenError(`role ${role} exists`);
    throw error;
  }
  try {
    // Written page by page into the log it takes twice the time.
    await client.query(
      `CREATE DATABASE ${escapeIdentifier(database)} OWNER ${escapeIdentifier(role)} TEMPLATE template0 STRATEGY file_copy`,
    );
  } catch (error) {
    await client.query(`DROP ROLE ${escapeIdentifier(role)}`);
    if (isNameTaken(error)) throw new NameTakenError(`database ${database} exists`);
    throw error;
  }
}

const isNameTaken = (error: unknown): boolean =>
  ['42710', '42P04', '23505'].includes((error as { code?: string }).code ?? '');
