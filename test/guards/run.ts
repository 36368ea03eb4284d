import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Guard } from './guard.ts';
import { nameOf, sourceWithout } from './guard.ts';
import { GUARDS } from './guards.ts';
import { type Outcome, openTests } from './tests.ts';

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, list: { type: 'boolean' } },
});

const wanted = new RegExp(options.only ?? '');
const chosen = GUARDS.filter((guard) => wanted.test(`${nameOf(guard)} ${guard.tests.join(' ')}`));
if (options.list) for (const guard of chosen) console.log(`${nameOf(guard)}\n    ${guard.tests.join(', ')}`);
else process.exitCode = (await removeEach(chosen)) ? 0 : 1;

/** Removes guard after guard, in a copy of the project, and runs its tests. @returns whether each is held */
async function removeEach(guards: Guard[]): Promise<boolean> {
  const folder = copyOfProject();
  const tests = await openTests(folder);
  const failures: string[] = [];
  const began = Date.now();
  try {
    const unfit = await tests.unfit(guards);
    for (const [index, guard] of guards.entries()) {
      const problem = unfit(guard);
      const { heldBy, failure } = problem === undefined ? await outcomeWithout(guard) : { failure: problem };
      if (failure) failures.push(failure);
      console.log(
        `${index + 1}/${guards.length} ${failure ? `✗ ${failure}` : `✓ ${nameOf(guard)}\n    “${heldBy}” fails`}`,
      );
    }
  } finally {
    await tests.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(`\n${guards.length} guards in ${seconds} s, ${failures.length} not held.`);
  for (const failure of failures) console.log(failure);
  return failures.length === 0;

  async function outcomeWithout(guard: Guard): Promise<Outcome> {
    const path = join(folder, guard.file);
    const source = readFileSync(path, 'utf8');
    try {
      writeFileSync(path, sourceWithout(guard, source));
      return await tests.outcome(guard);
    } catch (error) {
      return { failure: (error as Error).message };
    } finally {
      writeFileSync(path, source);
    }
  }
}

/** What git knows of the project or would take, in a temporary folder. */
function copyOfProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guards-'));
  const arguments_ = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', arguments_, { encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of new Set(files)) cpSync(file, join(folder, file));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  return folder;
}
