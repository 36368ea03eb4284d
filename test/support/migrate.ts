import { applyD1Migrations, env } from 'cloudflare:test';
import { beforeAll } from 'vitest';

// Storage is isolated by test file, so each file begins with empty databases.
beforeAll(async () => {
  await applyD1Migrations(env.CONTROL_DB, env.CONTROL_DB_MIGRATIONS);
  await applyD1Migrations(env.AUDIT_DB, env.AUDIT_DB_MIGRATIONS);
});
