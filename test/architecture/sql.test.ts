import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const listSourceFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`);

const tables = new Map(
  listSourceFiles('src/db/schema').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/export const (\w+) = sqliteTable\(\s*'(\w+)'/g)].map(
      ([, constant = '', name = '']) => [name, constant] as const,
    ),
  ),
);

it('SQL names no table of the control database in a string', () => {
  expect(tables.size).toBeGreaterThan(30);
  const namedTables = [...listSourceFiles('src/modules'), ...listSourceFiles('src/access')].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/sql(?:<[^>]*>)?`[^`]*`/g)].flatMap(([statement]) =>
      [...statement.matchAll(/\b(?:from|join|into|update) (\w+)/g)]
        .filter(([, name = '']) => tables.has(name))
        .map(([found, name = '']) => `${file}: "${found}": write \${${tables.get(name)}} in place of the name`),
    ),
  );
  expect(namedTables).toEqual([]);
});

it('only the sessions of src/db run batches of statements, whose results are read by name', () => {
  const batchFiles = listSourceFiles('src').filter((file) => /[.?]batch\s*[(<]/.test(readFileSync(file, 'utf8')));
  // The sessions beneath it hand batches on.
  const SESSION_FILES = [
    'client',
    'dependent-session',
    'guarded-session',
    'nearest-replica',
    'dry-run-session',
    'event-session',
  ].map((name) => `src/db/${name}.ts`);
  const otherFiles = batchFiles.filter((file) => !SESSION_FILES.includes(file));
  expect(otherFiles.map((file) => `${file}: name the statements, for \`commit\` or \`readTogether\``)).toEqual([]);
  expect(batchFiles).toHaveLength(6);
});
