import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { type FoundCondition, findGuards } from './conditions.ts';
import { findDeclarations, findGuard, formatName, type Guard, removeGuard } from './guard.ts';
import { GUARDS } from './guards.ts';
import { NO_GUARDS } from './no-guards.ts';

const readSource = (file: string): string => readFileSync(file, 'utf8');
const FILES = execFileSync('git', ['ls-files', '--deduplicate', 'src', 'drizzle'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^src\/.*\.ts$|^drizzle\/.*\.sql$/.test(file) && existsSync(file));

/** What to do about an entry that does not fit any more, or nothing. */
function findProblems(guard: Guard): string[] {
  const misplaced = findMisplacement(guard);
  if (misplaced !== undefined) return [misplaced];
  const isTest = (file: string): boolean => existsSync(file) && statSync(file).isFile();
  const missing = guard.tests.filter((file) => !isTest(file) || !readSource(file).includes(guard.title ?? ''));
  return missing.map(
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

/** What keeps a file from being loaded without the guard, or nothing. */
function findSyntaxErrors(guard: Guard): string[] {
  try {
    transformSync(removeGuard(guard, readSource(guard.file)), { loader: 'ts', logLevel: 'silent' });
    return [];
  } catch (error) {
    return [`${formatName(guard)}: ${(error as Error).message}. Put something in its place that runs.`];
  }
}

/** Whether an entry, of either list, is about what was found. */
function isListed(file: string, source: string, { start, end }: FoundCondition): boolean {
  const isIn = ({ start: from, end: to }: { start: number; end: number }) => from < end && to > start;
  const mine = GUARDS.filter((guard) => guard.file === file && findMisplacement(guard) === undefined);
  return (
    mine.some((guard) => isIn(findGuard(guard, source))) ||
    NO_GUARDS.some((one) => isExcused(one, file, source, { start, end }))
  );
}

function isExcused(
  one: (typeof NO_GUARDS)[number],
  file: string,
  source: string,
  { start, end }: { start: number; end: number },
): boolean {
  if (one.file !== file) return false;
  const within = one.in === undefined ? { start: 0, end: source.length } : findDeclarations(source).get(one.in);
  return (
    within !== undefined && within.start <= start && end <= within.end && source.slice(start, end).includes(one.text)
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

  it('has every guard once', () => {
    const names = GUARDS.map(formatName);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('has every condition of a write, every lock and every unique index, but for those with a reason', () => {
    const unlisted = FILES.flatMap((file) => {
      const source = readSource(file);
      return findGuards(file, source)
        .filter((found) => !isListed(file, source, found))
        .map(
          ({ in: where, text }) =>
            `${file} › ${where} › ${text.replace(/\s+/g, ' ').slice(0, 120)}: list it in test/guards/lists with the test that fails without it, or in test/guards/no-guards.ts with a reason.`,
        );
    });
    expect(unlisted).toEqual([]);
  });

  it('excuses only conditions that exist', () => {
    const idle = NO_GUARDS.filter(
      (one) =>
        !existsSync(one.file) ||
        !findGuards(one.file, readSource(one.file)).some((found) =>
          isExcused(one, one.file, readSource(one.file), found),
        ),
    );
    expect(
      idle.map((one) => `${one.file} › ${one.in} › ${one.text}: take it out of test/guards/no-guards.ts.`),
    ).toEqual([]);
  });
});
