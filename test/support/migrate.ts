import { applyD1Migrations, env, reset } from 'cloudflare:test';
import { beforeAll } from 'vitest';
import { countAnew } from './worlds.ts';

// The files of a worker share its modules, which take seconds to load, and nothing else: each begins with empty storage.
beforeAll(async () => {
  countAnew();
  await reset();
  await applyD1Migrations(env.CONTROL_DB, env.CONTROL_DB_MIGRATIONS);
  await applyD1Migrations(env.AUDIT_DB, env.AUDIT_DB_MIGRATIONS);
});
