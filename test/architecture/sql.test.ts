import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const readFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`);

const tables = new Map(
  readFiles('src/db/schema').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/export const (\w+) = sqliteTable\(\s*'(\w+)'/g)].map(
      ([, constant = '', name = '']) => [name, constant] as const,
    ),
  ),
);

it('SQL names no table of the control database in a string', () => {
  expect(tables.size).toBeGreaterThan(30);
  const named = [...readFiles('src/modules'), ...readFiles('src/access')].flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/sql(?:<[^>]*>)?`[^`]*`/g)].flatMap(([statement]) =>
      [...statement.matchAll(/\b(?:from|join|into|update) (\w+)/g)]
        .filter(([, name = '']) => tables.has(name))
        .map(([found, name = '']) => `${file}: "${found}": write \${${tables.get(name)}} in place of the name`),
    ),
  );
  expect(named).toEqual([]);
});

it('only the sessions of src/db run batches of statements, whose results are read by name', () => {
  const batches = readFiles('src').filter((file) => /[.?]batch\s*[(<]/.test(readFileSync(file, 'utf8')));
  // The sessions beneath it hand batches on.
  const handOn = [
    'client',
    'dependent-session',
    'guarded-session',
    'nearest',
    'rehearsing-session',
    'telling-session',
  ].map((name) => `src/db/${name}.ts`);
  const elsewhere = batches.filter((file) => !handOn.includes(file));
  expect(elsewhere.map((file) => `${file}: name the statements, for \`commit\` or \`readTogether\``)).toEqual([]);
  expect(batches).toHaveLength(6);
});
