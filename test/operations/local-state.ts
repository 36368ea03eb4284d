import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openLocal } from '../../operations/database.ts';
import { PROJECT } from '../../operations/environments.ts';

/** The state folder of a local start, with one migrated database. */
export interface LocalState {
  folder: string;
  /** Runs one statement, without the runtime, which takes a second to start. @returns its rows */
  query<Row>(statement: string): Row[];
  remove(): Promise<void>;
}

/** Makes one; commands that run in this process find it. */
export async function createLocalState(): Promise<LocalState> {
  const folder = await mkdtemp(join(tmpdir(), 'operations-'));
  process.env.LOCAL_STATE_DIR = folder;
  await mkdir(join(folder, 'worker', 'storage'), { recursive: true });
  const file = await databaseFile(folder);
  const migrations = join(PROJECT, 'drizzle');
  const texts = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  const database = new DatabaseSync(file);
  for (const name of texts) database.exec(await readFile(join(migrations, name), 'utf8'));
  database.close();
  return {
    folder,
    query<Row>(statement: string) {
      // Opened for each statement, since commands run in processes of their own.
      const opened = new DatabaseSync(file);
      try {
        // Rows of the driver have no prototype, which `toEqual` would take amiss.
        return opened
          .prepare(statement)
          .all()
          .map((row) => ({ ...row })) as Row[];
      } finally {
        opened.close();
      }
    },
    async remove() {
      delete process.env.LOCAL_STATE_DIR;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Has the runtime make a database, at a place of its choice. */
async function databaseFile(folder: string): Promise<string> {
  const database = await openLocal('CONTROL_DB');
  await database.query('SELECT 1');
  await database.close();
  const place = join(folder, 'worker', 'storage', 'd1', 'miniflare-D1DatabaseObject');
  const [name] = (await readdir(place)).filter((made) => /^[0-9a-f]+\.sqlite$/.test(made));
  return join(place, name as string);
}
