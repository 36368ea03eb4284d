import { applyD1Migrations, type D1Migration, env, reset } from 'cloudflare:test';
import { afterEach, vi } from 'vitest';
import { touchesAccess } from '../../src/db/access-changes.ts';
import { hashSettings } from '../../src/platform/passwords.ts';
import { rememberMainModule, restoreRuntimeTimers } from './cheaper-runner.ts';
import { resetClock } from './clock.ts';
import { restartNumbering } from './companies.ts';
import { forgetPrincipals } from './known-principals.ts';
import { endWorkOfEarlierFiles } from './main.ts';

// What the Worker logs without an error would fill the screen.
console.log = () => undefined;

// What one test does to the clock and to functions ends with it.
afterEach(() => {
  resetClock();
  vi.restoreAllMocks();
});

/** Empties the isolate's cache of principals when a test changes access directly in the database, which notifies nobody. */
function forgetOnDirectWrites(): void {
  const prepare = env.CONTROL_DB.prepare.bind(env.CONTROL_DB);
  env.CONTROL_DB.prepare = (sql) => {
    if (touchesAccess(sql)) forgetPrincipals();
    return prepare(sql);
  };
}

/** Resets all storage, repeatedly: on a busy machine work of the previous file can still write after the first `reset`. */
async function resetAll(): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await reset();
    if ((await countTables(env.CONTROL_DB)) === 0) return;
  }
  throw new Error('The storage of the file before cannot be reset.');
}

const countTables = (database: D1Database): Promise<number | null> =>
  database.prepare("select count(*) as tables from sqlite_master where name = 'd1_migrations'").first('tables');

/** Applies all migrations in one batch, because each would be a round trip otherwise. */
const applyAllMigrations = (database: D1Database, migrations: D1Migration[]) =>
  applyD1Migrations(database, [{ name: 'all', queries: migrations.flatMap(({ queries }) => queries) }]);

// The files of a worker share its modules, which take seconds to load: each begins with empty storage, the right time and no
// spies, whatever the one before left.
vi.useRealTimers();
vi.restoreAllMocks();
resetClock();
restartNumbering();
rememberMainModule();
restoreRuntimeTimers();
forgetOnDirectWrites();
// A tenth of a second for every person of every test adds up.
hashSettings.cost = { memorySize: 64, passes: 1, parallelism: 1 };
await endWorkOfEarlierFiles();
await resetAll();
await applyAllMigrations(env.CONTROL_DB, env.CONTROL_DB_MIGRATIONS);
