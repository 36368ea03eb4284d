import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openLocal } from '../../operations/database.ts';
import { PROJECT } from '../../operations/environments.ts';

type Binding = 'CONTROL_DB' | 'AUDIT_DB';

/** The state folder of a local start, with a migrated database; commands that run in this process find it. */
export async function aLocalState(binding: Binding): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'operations-'));
  process.env.LOCAL_STATE_DIR = folder;
  await mkdir(join(folder, 'worker', 'storage'), { recursive: true });
  const migrations = join(PROJECT, binding === 'CONTROL_DB' ? 'drizzle' : 'drizzle-audit');
  await inDatabase(binding, async (database) => {
    for (const name of (await readdir(migrations)).filter((file) => file.endsWith('.sql')).sort()) {
      const text = await readFile(join(migrations, name), 'utf8');
      for (const statement of text.split('--> statement-breakpoint').filter((one) => one.trim() !== '')) {
        await database.query(statement);
      }
    }
  });
  return {
    folder,
    async remove() {
      delete process.env.LOCAL_STATE_DIR;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Works on the database of the state folder. */
export async function inDatabase<T>(binding: Binding, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openLocal(binding);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
