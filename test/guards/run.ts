import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Guard } from './guard.ts';
import { nameOf, sourceWithout } from './guard.ts';
import { GUARDS } from './guards.ts';
import { roundsOf } from './rounds.ts';
import { openTests } from './tests.ts';

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, alone: { type: 'boolean' }, list: { type: 'boolean' } },
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
  let count = 0;
  const report = (guard: Guard, failure: string | undefined) => {
    count += 1;
    if (failure) failures.push(failure);
    console.log(`${count}/${guards.length} ${failure ? `✗ ${failure}` : `✓ ${nameOf(guard)}`}`);
  };
  try {
    const unfit = await tests.unfit(guards);
    for (const guard of guards.filter(unfit)) report(guard, unfit(guard));
    const fit = guards.filter((guard) => !unfit(guard));
    for (const round of options.alone ? fit.map((guard) => [guard]) : roundsOf(fit)) await removeTogether(round);
  } finally {
    await tests.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(`\n${guards.length} guards in ${seconds} s, ${failures.length} not held.`);
  for (const failure of failures) console.log(failure);
  return failures.length === 0;

  async function removeTogether(round: Guard[]): Promise<void> {
    const files = new Map(round.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]));
    const removed = round.filter((guard) => remove(guard));
    const { verdict, brokeDown } = await tests.survival(removed);
    for (const [file, source] of files) writeFileSync(join(folder, file), source);
    // One guard breaks the tests of the others: each is removed by itself.
    if (brokeDown && removed.length > 1) for (const guard of removed) await removeTogether([guard]);
    else for (const guard of removed) report(guard, verdict(guard));
  }

  function remove(guard: Guard): boolean {
    const path = join(folder, guard.file);
    try {
      writeFileSync(path, sourceWithout(guard, readFileSync(path, 'utf8')));
      return true;
    } catch (error) {
      report(guard, (error as Error).message);
      return false;
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
