/**
 * Runs the tests of what differs from the origin's `main`, or from the commit that is named:
 *
 *     npm run test:changed -- HEAD~3
 *
 * `test/` mirrors `src/`, so a change in a folder there is answered by the folder of that name here. What every test stands
 * on, such as `src/context.ts`, has no such folder: it is named, and left to `npm test`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Folders of `src` whose tests stand in a folder of another name. */
const TESTED_IN: Record<string, string> = {
  db: 'versions',
  generated: 'contract',
  logs: 'company-log',
  'managed-database': 'managed-tables',
  organizations: 'companies',
  sessions: 'sign-in',
};

const PROJECT = join(import.meta.dirname, '..');
const git = (...options: string[]): string[] =>
  execFileSync('git', options, { cwd: PROJECT, encoding: 'utf8' }).split('\n').filter(Boolean);

/** The tests that answer for a file, as the beginning of their paths; undefined where that would be all of them. */
export function testsOf(path: string): string | undefined {
  if (path.endsWith('.test.ts')) return existsSync(join(PROJECT, path)) ? path : 'test/architecture/';
  if (path.endsWith('.md')) return 'test/docs/';
  if (path.startsWith('drizzle')) return 'test/operations/migrations';
  const mirrored = path.replace(/^src\/(modules\/)?|^test\//, '').split('/');
  if (path.startsWith('src/')) mirrored[0] = TESTED_IN[mirrored[0] as string] ?? (mirrored[0] as string);
  for (let depth = mirrored.length - 1; depth > 0; depth -= 1) {
    const folder = join('test', ...mirrored.slice(0, depth), '/');
    if (folder !== 'test/support/' && existsSync(join(PROJECT, folder))) return folder;
  }
  return undefined;
}

/** The last commit that a commit and this state have in common; undefined where there is no such commit. */
function mergeBase(since: string): string | undefined {
  const { status, stdout } = spawnSync('git', ['merge-base', since, 'HEAD'], { cwd: PROJECT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function main([since = 'origin/main']: string[]): void {
  const base = mergeBase(since);
  if (base === undefined) {
    console.error(`There is no commit "${since}" here. Name the one to compare with: npm run test:changed -- HEAD~3`);
    process.exitCode = 1;
    return;
  }
  const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
  const tests = new Set(changed.flatMap((path) => testsOf(path) ?? []));
  const others = changed.filter((path) => testsOf(path) === undefined);
  if (changed.some((path) => path.startsWith('src/'))) tests.add('test/architecture/').add('test/contract/routes');
  if (others.length > 0)
    console.log(`Every test may stand on these, so "npm test" answers for them: ${others.join(', ')}`);
  if (tests.size === 0) {
    console.log(`Nothing that has tests of its own differs from ${since}.`);
    return;
  }
  console.log(`Tests of what differs from ${since}: ${[...tests].join(' ')}`);
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', ...tests], { cwd: PROJECT, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

if (import.meta.main) main(process.argv.slice(2));
