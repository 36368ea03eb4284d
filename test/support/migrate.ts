import { applyD1Migrations, env } from 'cloudflare:test';
import { beforeAll } from 'vitest';

// Storage is isolated by test file, so each file begins with an empty control database.
beforeAll(async () => {
  await applyD1Migrations(env.CONTROL_DB, env.CONTROL_DB_MIGRATIONS);
});
