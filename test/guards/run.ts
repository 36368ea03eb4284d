import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { createCopy, type ProjectCopy } from './copy.ts';
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
else process.exitCode = (await removeEachGuard(selectedGuards)) ? 0 : 1;

/**
 * Removes the guards one by one, in parallel copies of the project, and runs their tests. @returns whether a test fails for each
 */
async function removeEachGuard(guards: Guard[]): Promise<boolean> {
  const failures: string[] = [];
  const startedAt = Date.now();
  const getSecondsSince = (startTime: number) => Math.round((Date.now() - startTime) / 1000);
  const groups = groupByTests(guards);
  const count = Math.min(Number(options.copies ?? availableParallelism()), groups.length);
  const projectCopies = Array.from({ length: count }, createCopy);
  let doneCount = 0;
  const reportGuard = (guard: Guard, failure: string | undefined, failedTest = '') => {
    if (failure) failures.push(failure);
    doneCount += 1;
    console.log(
      `${doneCount}/${guards.length} ${failure ? `✗ ${failure}` : `✓ ${formatName(guard)}\n    ${failedTest}`}`,
    );
  };
  try {
    const problems = new Map<Guard, string | null>();
    await runInCopies(projectCopies, async (copy, copyIndex) => {
      const ownGuards = groups.filter((_, index) => index % count === copyIndex).flat();
      const foundProblems = await copy.findUnfitGuards(ownGuards);
      for (const [index, guard] of ownGuards.entries()) problems.set(guard, foundProblems[index] ?? null);
    });
    console.log(`With every guard in place, the tests ran in ${getSecondsSince(startedAt)} s.`);
    const pendingGuards = guards.values();
    await runInCopies(projectCopies, async (copy) => {
      for (const guard of pendingGuards) {
        const problem = problems.get(guard);
        const { heldBy, failure } = problem ? { failure: problem } : await copy.testWithoutGuard(guard);
        reportGuard(guard, failure, heldBy);
      }
    });
  } finally {
    await runInCopies(projectCopies, (copy) => copy.close());
  }
  console.log(`\n${guards.length} guards in ${getSecondsSince(startedAt)} s, ${failures.length} not held.`);
  for (const failure of failures) console.log(failure);
  return failures.length === 0;
}

/** Runs work in all copies at the same time. */
function runInCopies(
  projectCopies: ProjectCopy[],
  runInCopy: (copy: ProjectCopy, copyIndex: number) => Promise<void>,
): Promise<unknown> {
  return Promise.all(projectCopies.map(runInCopy));
}

/** Groups guards by their test files: with every guard in place, each file has to run only once. */
function groupByTests(guards: Guard[]): Guard[][] {
  return [...Map.groupBy(guards, ({ tests }) => tests.toSorted().join()).values()];
}
