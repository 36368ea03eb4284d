import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openLocalDatabase } from '../../operations/database.ts';
import { PROJECT } from '../../operations/environments.ts';

/** The state folder of a local start, with one migrated database. */
export interface LocalState {
  folder: string;
  /** Runs one SQL statement without the runtime, which takes a second to start. @returns its rows */
  query<Row>(statement: string): Row[];
  remove(): Promise<void>;
}

/** Creates the state folder; commands that run in this process find it. */
export async function createLocalState(): Promise<LocalState> {
  const folder = await mkdtemp(join(tmpdir(), 'operations-'));
  process.env.LOCAL_STATE_DIR = folder;
  await mkdir(join(folder, 'worker', 'storage'), { recursive: true });
  const file = await createDatabaseFile(folder);
  const migrations = join(PROJECT, 'drizzle');
  const texts = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const database = new DatabaseSync(file);
  for (const name of texts) database.exec(await readFile(join(migrations, name), 'utf8'));
  database.close();
  return {
    folder,
    query<Row>(statement: string) {
      // Opened for each statement, since commands run in processes of their own.
      const openDatabase = new DatabaseSync(file);
      try {
        // Rows of the driver have no prototype, which `toEqual` would take amiss.
        return openDatabase
          .prepare(statement)
          .all()
          .map((row) => ({ ...row })) as Row[];
      } finally {
        openDatabase.close();
      }
    },
    async remove() {
      delete process.env.LOCAL_STATE_DIR;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Has the runtime create a database. @returns the path of its file, which the runtime chooses */
async function createDatabaseFile(folder: string): Promise<string> {
  const database = await openLocalDatabase('CONTROL_DB');
  await database.query('SELECT 1');
  await database.close();
  const databaseFolder = join(folder, 'worker', 'storage', 'd1', 'miniflare-D1DatabaseObject');
  const [name] = (await readdir(databaseFolder)).filter((fileName) => /^[0-9a-f]+\.sqlite$/.test(fileName));
  return join(databaseFolder, name as string);
}
