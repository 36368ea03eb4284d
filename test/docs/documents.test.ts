import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const PROJECT = resolve(import.meta.dirname, '../..');
const readDocument = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

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
/** The top-level folders of the repository. Folders that begin with a dot are generated, except `.ci`. */
const FOLDERS = readdirSync(PROJECT)
  .filter((name) => !name.startsWith('.') || name === '.ci')
  .join('|')
  .replaceAll('.', '\\.');

/** Lists the paths of the repository in backticks, such as `src/app.ts`, but no paths with a variable part. */
const listPaths = (text: string): string[] =>
  [...text.matchAll(new RegExp(`\`((?:${FOLDERS})/[\\w./-]+)\``, 'g'))].map(([, path]) => path as string);

it.each([
  ['README.md', 900],
  ['docs/architecture.md', 1200],
])('%s has at most %d words', (document, words) => {
  expect(readDocument(document).split(/\s+/).length).toBeLessThanOrEqual(words);
});

it.each(DOCUMENTS)('%s names only files that exist', (document) => {
  const missingPaths = listPaths(readDocument(document)).filter((path) => !existsSync(join(PROJECT, path)));
  expect(missingPaths).toEqual([]);
});

it.each(DOCUMENTS)('%s links only to files that exist', (document) => {
  const links = [...readDocument(document).matchAll(/\]\((?!https?:)([^)#\s]+)[^)]*\)/g)].map(
    ([, path]) => path as string,
  );
  expect(links.filter((path) => !existsSync(resolve(PROJECT, dirname(document), path)))).toEqual([]);
});

it('docs/choices.md compares file readers by the figures of the last benchmark', () => {
  const printedFigures = readDocument('bench/README.md')
    .split('\n')
    .filter((line) => /^\| `(formats|upload-memory)` /.test(line))
    .flatMap((line) => line.match(/[\d.]+ times/) ?? []);
  const [, readers = ''] = /\*\*The readers of files\*\*([\s\S]*?)\n- \*\*/.exec(readDocument('docs/choices.md')) ?? [];
  const namedFigures = readers.match(/\b0\.\d+ times/g) ?? [];
  expect(namedFigures.length).toBeGreaterThan(8);
  const unknownFigures = namedFigures.filter((figure) => !printedFigures.includes(figure));
  expect(
    unknownFigures.map((figure) => `docs/choices.md says ${figure}: copy the figure from bench/README.md`),
  ).toEqual([]);
});

it('the threat model names an existing test for each asset', () => {
  const [assets = ''] = readDocument('docs/threat-model.md').split('\n## Who reaches what');
  const rows = assets.split('\n').filter((line) => /^\| (?!asset|-)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect(listPaths(row).some((path) => path.startsWith('test/'))).toBe(true);
});

it('the table of ASVS lists each requirement once, in order, with a test for each requirement that is met', () => {
  const rows = readDocument('docs/asvs.md')
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) => line.split(' | '));
  const numbers = rows.map(([number = '']) =>
    number
      .replace(/^\| | \(L[12]\)$/g, '')
      .split('.')
      .map(Number),
  );
  const sortKeys = numbers.map(([chapter = 0, section = 0, place = 0]) => chapter * 10_000 + section * 100 + place);
  // Levels 1 and 2 of version 5.0.0.
  expect(sortKeys).toHaveLength(253);
  expect(sortKeys).toEqual([...new Set(sortKeys)].toSorted((first, other) => first - other));
  for (const [number, , state = '', explanation = '', tests = ''] of rows) {
    expect(['met', 'in part', 'not met', 'not applicable', 'by the platform'], number).toContain(state);
    expect(explanation, number).not.toBe('');
    if (state === 'met') expect(listPaths(tests).length, number).toBeGreaterThan(0);
  }
});

it('the alerts query events that the Worker logs', () => {
  const source = readdirSync(join(PROJECT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readDocument(join('src', name)))
    .join('\n');
  const [, alerts = ''] = /## Alerts\n([\s\S]*?)\n## /.exec(readDocument('docs/operations.md')) ?? [];
  const events = [...alerts.matchAll(/"([a-z_]+)"/g)].map(([, event]) => event as string);
  expect(events.length).toBeGreaterThan(8);
  for (const event of events) {
    expect(source.includes(`'${event}'`), event).toBe(true);
  }
});

it('the documents name only commands that exist', () => {
  const { scripts } = JSON.parse(readDocument('package.json'));
  const texts = DOCUMENTS.map(readDocument).join('\n');
  const namedScripts = [...texts.matchAll(/npm run ([\w-]+)/g)].map(([, script]) => script as string);
  for (const script of namedScripts) expect(scripts).toHaveProperty(script);
});

describe('CONTRIBUTING.md', () => {
  const text = readDocument('CONTRIBUTING.md');
  const blocks = [...text.matchAll(/^ *```ts (\S+)\n([\s\S]*?)^ *```$/gm)].map(([, path = '', code = '']) => [
    path,
    code,
  ]);
  /** Returns the code without its indentation. */
  const removeIndentation = (code: string) => code.replaceAll(/^ +/gm, '').trim();

  it('names the file of each code example', () => {
    expect(blocks.length).toBeGreaterThan(5);
    expect(blocks).toHaveLength([...text.matchAll(/^ *```ts/gm)].length);
  });

  it.each(blocks)('shows lines that are in %s', (path = '', code = '') => {
    const isInFile =
      existsSync(join(PROJECT, path)) && removeIndentation(readDocument(path)).includes(removeIndentation(code));
    expect(isInFile, `CONTRIBUTING.md shows lines that do not stand so in ${path}: copy them anew`).toBe(true);
  });
});
