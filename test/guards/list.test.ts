import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { type FoundCondition, findGuards } from './conditions.ts';
import { findDeclarations, findGuard, formatName, type Guard, removeGuard } from './guard.ts';
import { GUARDS } from './guards.ts';
import { UNGUARDED_CONDITIONS } from './no-guards.ts';

const readSource = (file: string): string => readFileSync(file, 'utf8');
const readWithoutComments = (file: string): string => readSource(file).replaceAll(/\/\*.*?\*\/|\/\/[^\n]*/gs, '');
const SOURCE_FILES = execFileSync('git', ['ls-files', '--deduplicate', 'src', 'drizzle'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^src\/.*\.ts$|^drizzle\/.*\.sql$/.test(file) && existsSync(file));

/** Lists the problems of an entry that no longer fits, with advice. */
function findProblems(guard: Guard): string[] {
  const misplacement = findMisplacement(guard);
  if (misplacement !== undefined) return [misplacement];
  const isTest = (file: string): boolean => existsSync(file) && statSync(file).isFile();
  const missingTests = guard.tests.filter(
    (file) => !isTest(file) || !readWithoutComments(file).includes(guard.title ?? ''),
  );
  return missingTests.map(
    (file) => `${formatName(guard)}: ${file} is not there, or has no title with “${guard.title}”. Correct the entry.`,
  );
}

function findMisplacement(guard: Guard): string | undefined {
  if (!existsSync(guard.file)) return `${formatName(guard)}: there is no such file any more. Correct the entry.`;
  try {
    findGuard(guard, readSource(guard.file));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Lists the errors that prevent the file from being loaded without the guard. */
function findSyntaxErrors(guard: Guard): string[] {
  try {
    transformSync(removeGuard(guard, readSource(guard.file)), { loader: 'ts', logLevel: 'silent' });
    return [];
  } catch (error) {
    return [`${formatName(guard)}: ${(error as Error).message}. Put something in its place that runs.`];
  }
}

/** Words of SQL and TypeScript that a replacement may contain although its file does not. */
const REPLACEMENT_WORDS = new Set(
  'abs boolean coalesce false isNaN let none not null resolve text then true undefined void'.split(' '),
);

/** Lists the names in a replacement that its file does not contain: the test would fail because of them, not of the guard. */
function findUnknownNames(guard: Guard): string[] {
  const source = readWithoutComments(guard.file);
  const ownNames = new Set(
    [...guard.without.matchAll(/\blet (\w+)|(\w+)(?=[^()]*\) =>)/g)].map(([, name, parameter]) => name ?? parameter),
  );
  const names = guard.without.replaceAll(/'[^']*'/g, '').match(/(?<![\w$])[a-z]\w{2,}/g) ?? [];
  return names
    .filter((name) => !ownNames.has(name) && !REPLACEMENT_WORDS.has(name))
    .filter((name) => !new RegExp(`\\b${name}\\b`).test(source))
    .map((name) => `${formatName(guard)}: ${guard.file} has no ${name}. Put something in its place that runs.`);
}

/** Returns true if an entry of either list covers a found condition. */
function isListed(file: string, source: string, { start, end }: FoundCondition): boolean {
  const overlapsCondition = ({ start: from, end: to }: { start: number; end: number }) => from < end && to > start;
  const fileGuards = GUARDS.filter((guard) => guard.file === file && findMisplacement(guard) === undefined);
  return (
    fileGuards.some((guard) => overlapsCondition(findGuard(guard, source))) ||
    UNGUARDED_CONDITIONS.some((unguardedCondition) => isExcused(unguardedCondition, file, source, { start, end }))
  );
}

function isExcused(
  unguardedCondition: (typeof UNGUARDED_CONDITIONS)[number],
  file: string,
  source: string,
  { start, end }: { start: number; end: number },
): boolean {
  if (unguardedCondition.file !== file) return false;
  const declarationRange =
    unguardedCondition.in === undefined
      ? { start: 0, end: source.length }
      : findDeclarations(source).get(unguardedCondition.in);
  return (
    declarationRange !== undefined &&
    declarationRange.start <= start &&
    end <= declarationRange.end &&
    source.slice(start, end).includes(unguardedCondition.text)
  );
}

describe('the list of guards', () => {
  it('fits the sources and the tests', () => {
    expect(GUARDS.flatMap(findProblems)).toEqual([]);
  });

  it('replaces each guard with code that can be loaded', () => {
    expect(
      GUARDS.filter((guard) => guard.file.endsWith('.ts') && !findMisplacement(guard)).flatMap(findSyntaxErrors),
    ).toEqual([]);
  });

  it('replaces each guard with names that its file has', () => {
    expect(GUARDS.flatMap(findUnknownNames)).toEqual([]);
  });

  it('has every guard once', () => {
    const names = GUARDS.map(formatName);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('has every condition of a write, every lock and every unique index, except those excused with a reason', () => {
    const unlistedConditions = SOURCE_FILES.flatMap((file) => {
      const source = readSource(file);
      return findGuards(file, source)
        .filter((foundCondition) => !isListed(file, source, foundCondition))
        .map(
          ({ in: declarationName, text }) =>
            `${file} › ${declarationName} › ${text.replace(/\s+/g, ' ').slice(0, 120)}: list it in test/guards/lists with the test that fails without it, or in test/guards/no-guards.ts with a reason.`,
        );
    });
    expect(unlistedConditions).toEqual([]);
  });

  it('excuses only conditions that exist', () => {
    const unusedEntries = UNGUARDED_CONDITIONS.filter(
      (unguardedCondition) =>
        !existsSync(unguardedCondition.file) ||
        !findGuards(unguardedCondition.file, readSource(unguardedCondition.file)).some((foundCondition) =>
          isExcused(unguardedCondition, unguardedCondition.file, readSource(unguardedCondition.file), foundCondition),
        ),
    );
    expect(
      unusedEntries.map(
        (unguardedCondition) =>
          `${unguardedCondition.file} › ${unguardedCondition.in} › ${unguardedCondition.text}: take it out of test/guards/no-guards.ts.`,
      ),
    ).toEqual([]);
  });
});
