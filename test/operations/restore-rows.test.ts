import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openLocalDatabase } from '../../operations/database.ts';
import { Problem } from '../../operations/problem.ts';
import { ACCESS_TABLES, CONTENT_TABLES, putBackRows } from '../../operations/restore/rows.ts';
import { callCommand, runCommand } from './command.ts';
import { createLocalState, type LocalState } from './local-state.ts';

// Each command starts a runtime.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let state: LocalState;
let folder: string;
const queryState = <Row>(statement: string): Row[] => state.query(statement);
const runStatements = (...statements: string[]): void => {
  for (const statement of statements) queryState(statement);
};

const makeUserSql = (company: string, id: string) =>
  `INSERT INTO users (id, company_id, email, name, password_hash, is_active, teams, metadata, created_at, updated_at)
   VALUES ('${id}', '${company}', '${id}@x.test', 'Ana "A" D''Ávila', 'hash-of-${id}', 1, '["t"]', '{}', 5, 5)`;
const makeVisualizationsSql = (company: string, ids: string[], name: string) => {
  const makeOtherValues = (id: string) => `'${id}', '${name}', '', 'select ''1''', '{"x":1}', '[]', 'u', 1, 1`;
  return `INSERT INTO visualizations
    (id, company_id, slug, name, description, sql, chart, parameters, created_by_user_id, created_at, updated_at)
    VALUES ${ids.map((id) => `('${id}', '${company}', ${makeOtherValues(id)})`).join()}`;
};

beforeAll(async () => {
  state = await createLocalState();
  folder = state.folder;
  for (const id of ['a', 'b']) {
    // More rows than one statement inserts.
    const ids = Array.from({ length: 60 }, (_, at) => `v-${id}-${at}`);
    runStatements(
      `INSERT INTO companies (id, slug, name, created_at, updated_at) VALUES ('${id}', 'slug-${id}', 'Name', 1, 1)`,
      makeUserSql(id, `user-${id}`),
      makeVisualizationsSql(id, ids, 'As it was'),
      `INSERT INTO sessions (id, company_id, user_id, refresh_digest, created_at, expires_at)
       VALUES ('session-${id}', '${id}', 'user-${id}', 'digest', 1, 2)`,
    );
  }
});
afterAll(() => state.remove());

const runRestore = (...options: string[]) => callCommand('restore', options, { LOCAL_STATE_DIR: folder });

it('npm run restore saves the rows of a company, and restores them without changing anything else', async () => {
  const file = join(folder, 'then.ndjson');
  // readline would take U+2028 for the end of a line.
  queryState("UPDATE visualizations SET description = 'one\u2028two\u2029three' WHERE id = 'v-a-3'");
  expect(await runCommand('restore', ['save', 'a', file], { LOCAL_STATE_DIR: folder })).toEqual({
    code: 0,
    output: `61 rows are in ${file}.\n`,
  });
  const text = await readFile(file, 'utf8');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(text).not.toMatch(/user-b|session-|hash-of/);
  const readAllRows = () => ({
    users: queryState('SELECT * FROM users ORDER BY id'),
    visualizations: queryState<{ id: string }>('SELECT * FROM visualizations ORDER BY id'),
  });
  const rowsBefore = readAllRows();

  runStatements(
    "DELETE FROM visualizations WHERE company_id = 'a' AND id <> 'v-a-7'",
    "UPDATE visualizations SET name = 'Changed'",
    "UPDATE users SET name = 'Changed'",
    makeVisualizationsSql('a', ['newer'], 'Newer'),
  );
  const listOtherRows = () => [
    queryState("SELECT * FROM visualizations WHERE company_id = 'b' OR id = 'newer' ORDER BY id"),
    queryState('SELECT * FROM users ORDER BY id'),
  ];
  const otherRowsBefore = listOtherRows();
  expect(await runRestore('put-back', file)).toEqual({ code: 0, output: '60 rows were put back.\n' });

  const selectOwnRows = ({ visualizations }: typeof rowsBefore) =>
    visualizations.filter(({ id }) => id.startsWith('v-a-'));
  expect(selectOwnRows(readAllRows())).toEqual(selectOwnRows(rowsBefore));
  expect(listOtherRows()).toEqual(otherRowsBefore);
});

it('npm run restore does not resubscribe recipients who had unsubscribed from a schedule', async () => {
  const file = join(folder, 'schedules.ndjson');
  const insertRecipient = (subject: string, unsubscribed: string) =>
    `INSERT INTO schedule_recipients (company_id, schedule_id, kind, subject, position, unsubscribed_at)
     VALUES ('a', 's-a', 'email', '${subject}', 0, ${unsubscribed})`;
  runStatements(
    `INSERT INTO schedules (id, company_id, name, target_type, target_id, parameters, cron, time_zone, format, status, api_url, created_by_user_id, created_at, updated_at)
     VALUES ('s-a', 'a', 'Daily', 'visualization', 'v-a-1', '{}', '0 8 * * *', 'UTC', 'summary', 'paused', '', 'user-a', 1, 1)`,
    insertRecipient('stays@x.test', 'NULL'),
    insertRecipient('left-since@x.test', 'NULL'),
    insertRecipient('left-before@x.test', '5'),
  );
  await runRestore('save', 'a', file);
  runStatements("UPDATE schedule_recipients SET unsubscribed_at = 7 WHERE subject = 'left-since@x.test'");
  const listRecipients = () =>
    queryState('SELECT subject, unsubscribed_at FROM schedule_recipients ORDER BY subject DESC') as unknown[];
  expect((await runRestore('put-back', file)).code).toBe(0);
  const [stays, since] = [
    { subject: 'stays@x.test', unsubscribed_at: null },
    { subject: 'left-since@x.test', unsubscribed_at: 7 },
  ];
  expect(listRecipients()).toEqual([stays, since, { subject: 'left-before@x.test', unsubscribed_at: 5 }]);
  runStatements("DELETE FROM schedules WHERE id = 's-a'");
  expect((await runRestore('put-back', file)).code).toBe(0);
  expect(listRecipients()).toEqual([stays, { subject: 'left-since@x.test', unsubscribed_at: null }]);
});

it('npm run restore restores permissions only with --access, and never a password', async () => {
  const file = join(folder, 'access.ndjson');
  runStatements(makeUserSql('a', 'administrator'), makeUserSql('a', 'gone'));
  await runRestore('save', 'a', file);
  runStatements(
    "UPDATE users SET is_active = 0, password_hash = 'new', mfa_enabled = 1 WHERE id = 'administrator'",
    "DELETE FROM users WHERE id = 'gone'",
  );
  const listPeople = () =>
    queryState(
      `SELECT id, is_active, password_hash, mfa_enabled FROM users
       WHERE id IN ('administrator', 'gone') ORDER BY id`,
    );
  const now = listPeople();
  expect((await runRestore('put-back', file)).code).toBe(0);
  expect(listPeople()).toEqual(now);
  const refusedRestore = await runRestore('put-back', file, '--tables', 'users,dashboards');
  expect(refusedRestore).toEqual({ code: 1, output: expect.stringMatching(/^users say who may do .* Say --access/) });
  expect(listPeople()).toEqual(now);

  expect((await runRestore('put-back', file, '--tables', 'users', '--access')).code).toBe(0);
  expect(listPeople()).toEqual([
    { id: 'administrator', is_active: 1, password_hash: 'new', mfa_enabled: 1 },
    { id: 'gone', is_active: 1, password_hash: null, mfa_enabled: 0 },
  ]);
  // The counts of the triggers are right.
  expect(queryState("SELECT living FROM user_counts WHERE company_id = 'a'")).toEqual([{ living: 3 }]);
});

it('npm run restore skips and names rows that conflict with existing rows, and restores all the rest', async () => {
  const file = join(folder, 'conflicts.ndjson');
  const insertAccount = (id: string, isDefault: number) =>
    `INSERT INTO accounts (id, company_id, name, is_default, is_active, metadata, created_at, updated_at)
     VALUES ('${id}', 'b', '${id}', ${isDefault}, 1, '{}', 1, 1)`;
  const makeBindingSql = (id: string) =>
    `INSERT INTO group_bindings (id, company_id, group_id, principal_type, principal_id, account_id, created_at)
     VALUES ('${id}', 'b', 'g', 'user', 'user-b', 'old', 1)`;
  runStatements(insertAccount('old', 1), insertAccount('other', 0), makeBindingSql('before'));
  await runRestore('save', 'b', file);
  // The default account moved, a membership was made anew, and somebody took a name.
  runStatements(
    "UPDATE accounts SET is_default = 0, name = 'renamed' WHERE id = 'old'",
    insertAccount('newest', 1),
    "DELETE FROM group_bindings WHERE id = 'before'",
    makeBindingSql('after'),
    "DELETE FROM visualizations WHERE id IN ('v-b-0', 'v-b-1')",
    makeVisualizationsSql('b', ['thief'], 'Thief'),
    "UPDATE visualizations SET slug = 'v-b-0' WHERE id = 'thief'",
  );

  const { code, output } = await runRestore('put-back', file, '--access');
  expect(code).toBe(0);
  expect(output).toMatch(/^61 rows were put back\.\n3 were skipped/);
  for (const skippedRow of ['accounts old: ', 'group_bindings before: ', 'visualizations v-b-0: ']) {
    expect(output).toMatch(new RegExp(`^ {2}${skippedRow}.*UNIQUE constraint failed`, 'm'));
  }
  expect(queryState('SELECT id FROM group_bindings')).toEqual([{ id: 'after' }]);
  expect(queryState("SELECT id FROM visualizations WHERE id IN ('v-b-0', 'v-b-1', 'thief') ORDER BY id")).toEqual([
    { id: 'thief' },
    { id: 'v-b-1' },
  ]);
  expect((await runRestore('put-back', file, '--access')).output).toBe(output);

  // Moved to one that the file knows, the default account moves back.
  runStatements(
    "UPDATE accounts SET is_default = 0 WHERE id = 'newest'",
    "UPDATE accounts SET is_default = 1 WHERE id = 'other'",
  );
  expect((await runRestore('put-back', file, '--access')).output).toContain('2 were skipped');
  expect(queryState('SELECT id FROM accounts WHERE is_default = 1')).toEqual([{ id: 'old' }]);
});

it('putting back rows writes nothing from a file that is incomplete or holds rows of another company', async () => {
  const file = join(folder, 'whole.ndjson');
  await runRestore('save', 'a', file);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  queryState("DELETE FROM visualizations WHERE company_id = 'a'");
  const brokenFile = join(folder, 'broken.ndjson');
  const foreignLines = lines.map((line) => line.replace('"company_id":"a"', '"company_id":"b"'));
  // Opened once, as each command would start a runtime.
  const database = await openLocalDatabase('CONTROL_DB');
  try {
    for (const [text, message] of [
      [lines.slice(0, -1).join('\n'), 'is not a whole copy'],
      [lines.toSpliced(5, 1).join('\n'), 'is not a whole copy'],
      [lines.join('\n').slice(0, -4), 'is not a whole copy'],
      [[lines[0], ...foreignLines.slice(1)].join('\n'), 'holds a row of another company'],
    ] as const) {
      await writeFile(brokenFile, text);
      const refusal = await putBackRows(database, brokenFile, CONTENT_TABLES).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(Problem);
      expect((refusal as Problem).message).toContain(message);
      expect(queryState("SELECT id FROM visualizations WHERE company_id = 'a'")).toEqual([]);
    }
  } finally {
    await database.close();
  }
});

it.each([
  [['save', 'nobody', '/tmp/never-written'], 'There is no company nobody'],
  [['save', 'a'], 'Usage'],
  [['save', 'a', 'x', '--access'], 'Usage'],
  [['put-back', 'x', '--tables', 'sessions'], 'Not among what can be restored: sessions'],
])('npm run restore says what is wrong when called with %j', async (options, message) => {
  expect(await runRestore(...options)).toEqual({ code: 1, output: expect.stringContaining(message) });
});

it('npm run restore lists only tables that exist and belong to companies', () => {
  for (const table of [...ACCESS_TABLES, ...CONTENT_TABLES]) {
    const columns = queryState<{ name: string }>(`PRAGMA table_info(${table})`);
    expect(columns.map(({ name }) => name)).toContain('company_id');
  }
});
