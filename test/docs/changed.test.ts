import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { findTests } from '../changed.ts';

it.each([
  ['src/modules/groups/service.ts', 'test/groups/'],
  ['src/kernel/text.ts', 'test/kernel/'],
  ['src/formats/csv/records.ts', 'test/formats/csv/'],
  ['src/objects/attempt-limiter.ts', 'test/objects/'],
  ['src/db/schema/groups.ts', 'test/versions/'],
  ['src/generated/examples/console.json', 'test/contract/'],
  ['src/logs/rows.ts', 'test/company-log/'],
  ['src/modules/managed-database/service.ts', 'test/managed-tables/'],
  ['src/modules/organizations/service.ts', 'test/companies/'],
  ['src/modules/sessions/service.ts', 'test/sign-in/'],
  ['src/web/charts/plot.ts', 'test/web/'],
  ['operations/rotation/key-uses.ts', 'test/operations/'],
  ['test/knowledge/model.ts', 'test/knowledge/'],
  ['test/http/cors.test.ts', 'test/http/cors.test.ts'],
  ['test/http/gone.test.ts', 'test/architecture/'],
  ['docs/operations.md', 'test/docs/'],
  ['src/context.ts', undefined],
  ['test/support/companies.ts', undefined],
  ['package.json', undefined],
])('npm run test:changed runs, for a change of %s, the tests of %s', (path, tests) => {
  expect(findTests(path)).toBe(tests);
  if (tests) expect(existsSync(join(resolve(import.meta.dirname, '../..'), tests))).toBe(true);
});

it('npm run test:changed tells the caller to name another commit when it does not find the given one', () => {
  const script = join(import.meta.dirname, '../changed.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, 'no-such-commit'], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stderr).toContain('There is no commit "no-such-commit" here. Name the one to compare with');
});
