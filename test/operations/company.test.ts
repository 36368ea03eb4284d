import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RESTORABLE } from '../../operations/company/rows.ts';
import { PROJECT } from '../../operations/environments.ts';
import { aLocalState, inDatabase } from './local-state.ts';

let folder: string;
let remove: () => Promise<void>;
const query = <Row>(statement: string) => inDatabase('CONTROL_DB', (database) => database.query<Row>(statement));

const user = (company: string, id: string) =>
  `INSERT INTO users (id, company_id, email, name, is_active, teams, metadata, created_at, updated_at)
   VALUES ('${id}', '${company}', '${id}@x.test', 'Ana "A" D''Ávila', 1, '["t"]', '{}', 5, 5)`;
const visualizations = (company: string, ids: string[], name: string) => {
  const rest = (id: string) => `'${id}', '${name}', '', 'select ''1''', '{"x":1}', '[]', 'u', 1, 1`;
  return `INSERT INTO visualizations
    (id, company_id, slug, name, description, sql, chart, parameters, created_by_user_id, created_at, updated_at)
    VALUES ${ids.map((id) => `('${id}', '${company}', ${rest(id)})`).join()}`;
};

beforeAll(async () => {
  ({ folder, remove } = await aLocalState('CONTROL_DB'));
  await inDatabase('CONTROL_DB', async (database) => {
    for (const id of ['a', 'b']) {
      await database.query(`INSERT INTO companies VALUES ('${id}', 'slug-${id}', 'Name', 1, 1)`);
      await database.query(user(id, `user-${id}`));
      // More than one statement takes.
      const ids = Array.from({ length: 60 }, (_, at) => `v-${id}-${at}`);
      await database.query(visualizations(id, ids, 'As it was'));
      await database.query(
        `INSERT INTO sessions (id, company_id, user_id, refresh_digest, created_at, expires_at)
         VALUES ('session-${id}', '${id}', 'user-${id}', 'digest', 1, 2)`,
      );
    }
  });
});
afterAll(() => remove());

const company = (...options: string[]) => {
  const script = join(PROJECT, 'operations', 'company.ts');
  return promisify(execFile)(process.execPath, [script, ...options], { env: process.env }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, output: stderr }),
  );
};

it('keeps a company’s rows, and brings them back as they were, without touching anything else', async () => {
  const file = join(folder, 'then.ndjson');
  expect(await company('export', 'a', file)).toEqual({ code: 0, output: `61 rows are in ${file}.\n` });
  const text = await readFile(file, 'utf8');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(text).not.toMatch(/user-b|session-/);
  const everything = async () => ({
    users: await query('SELECT * FROM users ORDER BY id'),
    counts: await query('SELECT * FROM user_counts ORDER BY company_id'),
    visualizations: await query<{ id: string }>('SELECT * FROM visualizations ORDER BY id'),
  });
  const before = await everything();

  await query("DELETE FROM users WHERE company_id = 'a'");
  await query("DELETE FROM visualizations WHERE company_id = 'a' AND id <> 'v-a-7'");
  await query("UPDATE visualizations SET name = 'Changed'");
  await query(visualizations('a', ['newer'], 'Newer'));
  const others = () => query("SELECT * FROM visualizations WHERE company_id = 'b' OR id = 'newer' ORDER BY id");
  const untouched = await others();
  expect(await company('import', file)).toEqual({ code: 0, output: '61 rows were put back.\n' });

  const after = await everything();
  expect([after.users, after.counts]).toEqual([before.users, before.counts]);
  const own = ({ visualizations }: typeof before) => visualizations.filter(({ id }) => id.startsWith('v-a-'));
  expect(own(after)).toEqual(own(before));
  expect(await others()).toEqual(untouched);
});

it('puts back only what was asked for, and says when a name is taken', async () => {
  const file = join(folder, 'again.ndjson');
  await company('export', 'b', file);
  await query("UPDATE users SET name = 'Changed' WHERE company_id = 'b'");
  await query("DELETE FROM visualizations WHERE id = 'v-b-0'");
  expect((await company('import', file, '--tables', 'visualizations')).output).toBe('60 rows were put back.\n');
  expect(await query("SELECT name FROM users WHERE company_id = 'b'")).toEqual([{ name: 'Changed' }]);

  await query("UPDATE visualizations SET slug = 'moved' WHERE id = 'v-b-0'");
  await query(visualizations('b', ['thief'], 'Thief'));
  await query("UPDATE visualizations SET slug = 'v-b-0' WHERE id = 'thief'");
  const refused = await company('import', file);
  expect(refused).toEqual({ code: 1, output: expect.stringContaining('visualizations cannot be put back') });
});

it.each([
  [['export', 'nobody', '/tmp/never-written'], 'There is no company nobody'],
  [['export', 'a'], 'Usage'],
  [['import', 'x', '--tables', 'sessions'], 'Not among what can be restored: sessions'],
])('with %j says what is wrong', async (options, message) => {
  expect(await company(...options)).toEqual({ code: 1, output: expect.stringContaining(message) });
});

it('knows tables that are there and belong to companies', async () => {
  for (const table of RESTORABLE) {
    const columns = await query<{ name: string }>(`PRAGMA table_info(${table})`);
    expect(columns.map(({ name }) => name)).toContain('company_id');
  }
});
