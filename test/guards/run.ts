import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Copy, openCopy } from './copy.ts';
import type { Guard } from './guard.ts';
import { formatName } from './guard.ts';
import { GUARDS } from './guards.ts';

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, list: { type: 'boolean' }, copies: { type: 'string' } },
});

const namePattern = new RegExp(options.only ?? '');
const selectedGuards = GUARDS.filter((guard) => namePattern.test(`${formatName(guard)} ${guard.tests.join(' ')}`));
if (options.list)
  for (const guard of selectedGuards) console.log(`${formatName(guard)}\n    ${guard.tests.join(', ')}`);
else process.exitCode = (await removeEach(selectedGuards)) ? 0 : 1;

/** Removes guard after guard, in copies of the project side by side, and runs its tests. @returns whether each is held */
async function removeEach(guards: Guard[]): Promise<boolean> {
  const failures: string[] = [];
  const began = Date.now();
  const seconds = (since: number) => Math.round((Date.now() - since) / 1000);
  const groups = groupByTests(guards);
  const count = Math.min(Number(options.copies ?? availableParallelism()), groups.length);
  const copies = Array.from({ length: count }, openCopy);
  let done = 0;
  const report = (guard: Guard, failure: string | undefined, heldBy = '') => {
    if (failure) failures.push(failure);
    done += 1;
    console.log(`${done}/${guards.length} ${failure ? `✗ ${failure}` : `✓ ${formatName(guard)}\n    ${heldBy}`}`);
  };
  try {
    const problems = new Map<Guard, string | null>();
    await runInCopies(copies, async (copy, place) => {
      const mine = groups.filter((_, index) => index % count === place).flat();
      const found = await copy.unfit(mine);
      for (const [index, guard] of mine.entries()) problems.set(guard, found[index] ?? null);
    });
    console.log(`With every guard in place, the tests ran in ${seconds(began)} s.`);
    const left = guards.values();
    await runInCopies(copies, async (copy) => {
      for (const guard of left) {
        const problem = problems.get(guard);
        const { heldBy, failure } = problem ? { failure: problem } : await copy.outcomeWithout(guard);
        report(guard, failure, heldBy);
      }
    });
  } finally {
    await runInCopies(copies, (copy) => copy.close());
  }
  console.log(`\n${guards.length} guards in ${seconds(began)} s, ${failures.length} not held.`);
  for (const failure of failures) console.log(failure);
  return failures.length === 0;
}

/** Has every copy work at once. */
function runInCopies(copies: Copy[], work: (copy: Copy, place: number) => Promise<void>): Promise<unknown> {
  return Promise.all(copies.map(work));
}

/** The guards that the same files hold, together: with every guard in place, a file runs once. */
function groupByTests(guards: Guard[]): Guard[][] {
  return [...Map.groupBy(guards, ({ tests }) => tests.toSorted().join()).values()];
}
