import { applyD1Migrations, type D1Migration, env, reset } from 'cloudflare:test';
import { beforeAll } from 'vitest';
import { hashing } from '../../src/platform/passwords.ts';
import { countAnew } from './worlds.ts';

// The files of a worker share its modules, which take seconds to load, and nothing else: each begins with empty storage.
beforeAll(async () => {
  countAnew();
  // A tenth of a second for every person of every test adds up.
  hashing.cost = { memorySize: 64, passes: 1, parallelism: 1 };
  await reset();
  await migrate(env.CONTROL_DB, env.CONTROL_DB_MIGRATIONS);
  await migrate(env.AUDIT_DB, env.AUDIT_DB_MIGRATIONS);
});

/** All of them in one batch: each is a round trip otherwise. */
const migrate = (database: D1Database, migrations: D1Migration[]) =>
  applyD1Migrations(database, [{ name: 'all', queries: migrations.flatMap(({ queries }) => queries) }]);
