import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'bench/README.md',
  'client/README.md',
  'embed/README.md',
  ...readdirSync(join(PROJECT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
  ...readdirSync(join(PROJECT, 'examples')).map((name) => `examples/${name}/README.md`),
  ...readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('README.md'))
    .map((name) => `src/${name}`),
].filter((path) => existsSync(join(PROJECT, path)));
/** Those with a dot are made by commands, but for that of CI. */
const FOLDERS = readdirSync(PROJECT)
  .filter((name) => !name.startsWith('.') || name === '.ci')
  .join('|')
  .replaceAll('.', '\\.');

/** Paths of the repository that stand in backticks: `src/app.ts`. Those with a variable part are none. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(new RegExp(`\`((?:${FOLDERS})/[\\w./-]+)\``, 'g'))].map(([, path]) => path as string);

it.each([
  ['README.md', 900],
  ['docs/architecture.md', 1200],
])('%s has at most %d words', (document, words) => {
  expect(read(document).split(/\s+/).length).toBeLessThanOrEqual(words);
});

it.each(DOCUMENTS)('%s names only files that exist', (document) => {
  const missing = pathsIn(read(document)).filter((path) => !existsSync(join(PROJECT, path)));
  expect(missing).toEqual([]);
});

it.each(DOCUMENTS)('%s links only to files that exist', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(([, path]) => path as string);
  expect(links.filter((path) => !existsSync(resolve(PROJECT, dirname(document), path)))).toEqual([]);
});

it('docs/choices.md compares file readers by the figures of the last benchmark', () => {
  const printed = read('bench/README.md')
    .split('\n')
    .filter((line) => /^\| `(formats|upload-memory)` /.test(line))
    .flatMap((line) => line.match(/[\d.]+ times/) ?? []);
  const [, readers = ''] = /\*\*The readers of files\*\*([\s\S]*?)\n- \*\*/.exec(read('docs/choices.md')) ?? [];
  const named = readers.match(/\b0\.\d+ times/g) ?? [];
  expect(named.length).toBeGreaterThan(8);
  const others = named.filter((figure) => !printed.includes(figure));
  expect(others.map((figure) => `docs/choices.md says ${figure}: copy the figure from bench/README.md`)).toEqual([]);
});

it('the threat model names an existing test for each asset', () => {
  const [assets = ''] = read('docs/threat-model.md').split('\n## Who reaches what');
  const rows = assets.split('\n').filter((line) => /^\| (?!asset|-)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect(pathsIn(row).some((path) => path.startsWith('test/'))).toBe(true);
});

it('the table of ASVS lists each requirement once, in order, with a test for each that is met', () => {
  const rows = read('docs/asvs.md')
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split(' | '));
  const numbers = rows.map(([number = '']) =>
    number
      .replace(/^\| | \(L[12]\)$/g, '')
      .split('.')
      .map(Number),
  );
  const places = numbers.map(([chapter = 0, section = 0, place = 0]) => chapter * 10_000 + section * 100 + place);
  // Levels 1 and 2 of version 5.0.0.
  expect(places).toHaveLength(253);
  expect(places).toEqual([...new Set(places)].toSorted((one, other) => one - other));
  for (const [number, , state = '', how = '', tests = ''] of rows) {
    expect(['met', 'in part', 'not met', 'not applicable', 'by the platform'], number).toContain(state);
    expect(how, number).not.toBe('');
    if (state === 'met') expect(pathsIn(tests).length, number).toBeGreaterThan(0);
  }
});

it('the alerts query events that the Worker logs', () => {
  const source = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join('src', name)))
    .join('\n');
  const [, alerts = ''] = /## Alerts\n([\s\S]*?)\n## /.exec(read('docs/operations.md')) ?? [];
  const events = [...alerts.matchAll(/"([a-z_]+)"/g)].map(([, event]) => event as string);
  expect(events.length).toBeGreaterThan(8);
  for (const event of events) {
    expect(source.includes(`'${event}'`), event).toBe(true);
  }
});

it('the documents name only commands that exist', () => {
  const { scripts } = JSON.parse(read('package.json'));
  const texts = DOCUMENTS.map(read).join('\n');
  const named = [...texts.matchAll(/npm run ([\w-]+)/g)].map(([, script]) => script as string);
  for (const script of named) expect(scripts).toHaveProperty(script);
});

describe('CONTRIBUTING.md', () => {
  const text = read('CONTRIBUTING.md');
  const blocks = [...text.matchAll(/^ *```ts (\S+)\n([\s\S]*?)^ *```$/gm)].map(([, path = '', code = '']) => [
    path,
    code,
  ]);
  /** The code without its indentation. */
  const unindented = (code: string) => code.replaceAll(/^ +/gm, '').trim();

  it('names the file of each code example', () => {
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks).toHaveLength([...text.matchAll(/^ *```ts/gm)].length);
  });

  it.each(blocks)('shows lines that are in %s', (path = '', code = '') => {
    const holds = existsSync(join(PROJECT, path)) && unindented(read(path)).includes(unindented(code));
    expect(holds, `CONTRIBUTING.md shows lines that do not stand so in ${path}: copy them anew`).toBe(true);
  });
});
