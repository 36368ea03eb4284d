import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unstable_splitSqlQuery as splitSqlQuery } from 'wrangler';
import { PROJECT } from '../../operations/environments.ts';
import { isTriggerCut } from './cloudflare-d1.ts';

const migrationFiles = ['drizzle'].flatMap((folder) =>
  readdirSync(join(PROJECT, folder))
    .filter((name) => name.endsWith('.sql'))
    .map((name) => join(folder, name)),
);

it.each(migrationFiles)('the migration %s has no trigger that D1 would split at its semicolons', (file) => {
  expect(isTriggerCut(readFileSync(join(PROJECT, file), 'utf8'))).toBe(false);
});

// What it takes for a part of the statement before is never run, the note that the migration is applied among it.
it.each(migrationFiles)('the migration %s is split by wrangler only where its statements end', (file) => {
  const sql = readFileSync(join(PROJECT, file), 'utf8');
  const recordedMigration = `${sql}\nINSERT INTO d1_migrations (name) VALUES ('1.sql');`;
  expect(splitSqlQuery(recordedMigration)).toHaveLength(sql.split('--> statement-breakpoint').length + 1);
});

it.each([
  ['a body of several lines', 'CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\nEND;'],
  ['keywords in lower case', 'CREATE TRIGGER t AFTER INSERT ON a begin DELETE FROM b; end;'],
  [
    'lines that end in CR LF',
    'CREATE TABLE a (b);\r\nCREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; END;\r\n',
  ],
  ['a condition on a line before', 'create trigger t AFTER INSERT ON a\nWHEN new.b BEGIN DELETE FROM b; END;'],
])('a trigger with %s is recognized as one that D1 would split', (_, sql) => {
  expect(isTriggerCut(sql)).toBe(true);
});
