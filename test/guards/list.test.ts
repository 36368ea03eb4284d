import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { transformSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { type Found, guardsIn } from './conditions.ts';
import { declarationsOf, type Guard, nameOf, placeOf, sourceWithout } from './guard.ts';
import { GUARDS } from './guards.ts';
import { NO_GUARDS } from './no-guards.ts';

const sourceOf = (file: string): string => readFileSync(file, 'utf8');
const FILES = execFileSync('git', ['ls-files', '--deduplicate', 'src', 'drizzle'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /^src\/.*\.ts$|^drizzle\/.*\.sql$/.test(file) && existsSync(file));

/** What to do about an entry that does not fit any more, or nothing. */
function problemOf(guard: Guard): string[] {
  const misplaced = misplacementOf(guard);
  if (misplaced !== undefined) return [misplaced];
  const isTest = (file: string): boolean => existsSync(file) && statSync(file).isFile();
  const missing = guard.tests.filter((file) => !isTest(file) || !sourceOf(file).includes(guard.title ?? ''));
  return missing.map(
    (file) => `${nameOf(guard)}: ${file} is not there, or has no title with “${guard.title}”. Correct the entry.`,
  );
}

function misplacementOf(guard: Guard): string | undefined {
  if (!existsSync(guard.file)) return `${nameOf(guard)}: there is no such file any more. Correct the entry.`;
  try {
    placeOf(guard, sourceOf(guard.file));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What keeps a file from being loaded without the guard, or nothing. */
function brokenWithout(guard: Guard): string[] {
  try {
    transformSync(sourceWithout(guard, sourceOf(guard.file)), { loader: 'ts', logLevel: 'silent' });
    return [];
  } catch (error) {
    return [`${nameOf(guard)}: ${(error as Error).message}. Put something in its place that runs.`];
  }
}

/** Whether an entry, of either list, is about what was found. */
function isListed(file: string, source: string, { start, end }: Found): boolean {
  const isIn = ({ start: from, end: to }: { start: number; end: number }) => from < end && to > start;
  const mine = GUARDS.filter((guard) => guard.file === file && misplacementOf(guard) === undefined);
  return (
    mine.some((guard) => isIn(placeOf(guard, source))) ||
    NO_GUARDS.some((one) => excuses(one, file, source, { start, end }))
  );
}

function excuses(
  one: (typeof NO_GUARDS)[number],
  file: string,
  source: string,
  { start, end }: { start: number; end: number },
): boolean {
  if (one.file !== file) return false;
  const within = one.in === undefined ? { start: 0, end: source.length } : declarationsOf(source).get(one.in);
  return (
    within !== undefined && within.start <= start && end <= within.end && source.slice(start, end).includes(one.text)
  );
}

describe('the list of guards', () => {
  it('fits the sources and the tests', () => {
    expect(GUARDS.flatMap(problemOf)).toEqual([]);
  });

  it('replaces each guard with code that can be loaded', () => {
    expect(
      GUARDS.filter((guard) => guard.file.endsWith('.ts') && !misplacementOf(guard)).flatMap(brokenWithout),
    ).toEqual([]);
  });

  it('has every guard once', () => {
    const names = GUARDS.map(nameOf);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('has every condition of a write, every lock and every unique index, but for those with a reason', () => {
    const unlisted = FILES.flatMap((file) => {
      const source = sourceOf(file);
      return guardsIn(file, source)
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
        !guardsIn(one.file, sourceOf(one.file)).some((found) => excuses(one, one.file, sourceOf(one.file), found)),
    );
    expect(
      idle.map((one) => `${one.file} › ${one.in} › ${one.text}: take it out of test/guards/no-guards.ts.`),
    ).toEqual([]);
  });
});
