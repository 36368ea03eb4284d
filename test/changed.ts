/**
 * Runs the tests for the files that differ from the origin's `main`, or from the given commit (`npm run test:changed -- HEAD~3`).
 * `test/` mirrors `src/`, so a change in a folder of `src` runs the tests of the folder with that name here. Files that every
 * test depends on, such as `src/context.ts`, have no such folder: they are listed, and left to `npm test`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Folders of `src` whose tests are in a folder of another name. */
const TEST_FOLDERS: Record<string, string> = {
  db: 'versions',
  generated: 'contract',
  logs: 'company-log',
  'managed-database': 'managed-tables',
  organizations: 'companies',
  sessions: 'sign-in',
};

const PROJECT = join(import.meta.dirname, '..');
const runGit = (...options: string[]): string[] =>
  execFileSync('git', options, { cwd: PROJECT, encoding: 'utf8' }).split('\n').filter(Boolean);

/** Returns the path prefix of the tests for a file; undefined if every test depends on the file. */
export function findTests(path: string): string | undefined {
  if (path.endsWith('.test.ts')) return existsSync(join(PROJECT, path)) ? path : 'test/architecture/';
  if (path.endsWith('.md')) return 'test/docs/';
  if (path.startsWith('drizzle')) return 'test/operations/migrations';
  const pathParts = path.replace(/^src\/(modules\/)?|^test\//, '').split('/');
  if (path.startsWith('src/')) pathParts[0] = TEST_FOLDERS[pathParts[0] as string] ?? (pathParts[0] as string);
  for (let depth = pathParts.length - 1; depth > 0; depth -= 1) {
    const folder = join('test', ...pathParts.slice(0, depth), '/');
    if (folder !== 'test/support/' && existsSync(join(PROJECT, folder))) return folder;
  }
  return undefined;
}

/** Returns the last common ancestor of a commit and HEAD; undefined if there is no such commit. */
function findMergeBase(since: string): string | undefined {
  const { status, stdout } = spawnSync('git', ['merge-base', since, 'HEAD'], { cwd: PROJECT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function main([since = 'origin/main']: string[]): void {
  const mergeBaseCommit = findMergeBase(since);
  if (mergeBaseCommit === undefined) {
    console.error(`There is no commit "${since}" here. Name the one to compare with: npm run test:changed -- HEAD~3`);
    process.exitCode = 1;
    return;
  }
  const changedFiles = [
    ...runGit('diff', '--name-only', mergeBaseCommit),
    ...runGit('ls-files', '--others', '--exclude-standard'),
  ];
  const tests = new Set(changedFiles.flatMap((path) => findTests(path) ?? []));
  const untestedFiles = changedFiles.filter((path) => findTests(path) === undefined);
  if (changedFiles.some((path) => path.startsWith('src/'))) tests.add('test/architecture/').add('test/contract/routes');
  if (untestedFiles.length > 0)
    console.log(`Every test may stand on these, so "npm test" answers for them: ${untestedFiles.join(', ')}`);
  if (tests.size === 0) {
    console.log(`Nothing that has tests of its own differs from ${since}.`);
    return;
  }
  console.log(`Tests of what differs from ${since}: ${[...tests].join(' ')}`);
  const vitestPath = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitestPath, 'run', ...tests], { cwd: PROJECT, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

if (import.meta.main) main(process.argv.slice(2));
