import { join, relative } from 'node:path';
import { createVitest, type TestCase, type TestModule, type TestSpecification } from 'vitest/node';
import { formatName, type Guard } from './guard.ts';

/** The outcome of removing a guard: the test that fails and its message, or advice because no test fails. */
export interface RemovalOutcome {
  /** The test that fails without the guard, with its message. */
  heldBy?: string;
  /** Why no test holds the guard, with advice. */
  failure?: string;
}

/** Matches the runner's message about a test that timed out, which on a busy machine proves nothing. */
const TIMEOUT_MESSAGE_PATTERN = /^(?:Test|Hook) timed out in \d+ms/;

/** Starts the project's tests once, in the folder of a copy. */
export async function startTests(folder: string) {
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';
  const options = { root: folder, watch: false, reporters: [{}], silent: true, maxWorkers: 1 };
  const vitest = await createVitest('test', options);

  /** Runs the test files of guards. @returns a function that lists the modules that cover a guard; fails if no test could run */
  const runTestFiles = async (guards: readonly Guard[]): Promise<(guard: Guard) => TestModule[]> => {
    const specifications: TestSpecification[] = [];
    for (const file of new Set(guards.flatMap(({ tests }) => tests))) {
      const titles = guards.filter(({ tests }) => tests.includes(file)).map(({ title = '' }) => escapeRegExp(title));
      const testNamePattern = new RegExp(titles.join('|'));
      for (const { project, moduleId } of await vitest.globTestSpecifications([join(folder, file)])) {
        // What the run before left would stand for this one, should this one not begin.
        vitest.state.clearFiles(project, [moduleId]);
        specifications.push(project.createSpecification(moduleId, { testNamePattern }));
      }
    }
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
    const hasRun = (module: TestModule) => listTests(module).length > 0;
    if (unhandledErrors.length > 0 && !testModules.some(hasRun)) throw unhandledErrors[0];
    return ({ tests }) =>
      testModules.filter(({ moduleId }) => tests.some((file) => relative(folder, moduleId) === file));
  };

  return {
    /** Runs the tests of all guards while every guard is in place. @returns a function that says what is wrong with a guard's entry */
    async findUnfitGuards(guards: readonly Guard[]): Promise<(guard: Guard) => string | undefined> {
      const listModules = await runTestFiles(guards);
      return (guard) => {
        const modules = listModules(guard);
        const hasRunTest = modules.flatMap(listTests).some(({ fullName }) => fullName.includes(guard.title ?? ''));
        if (!hasRunTest) return `${describeGuard(guard)}: no test fits. Correct the entry in test/guards/lists.`;
        if (modules.every((module) => module.ok())) return undefined;
        return `${describeGuard(guard)} fails with every guard in place. Repair that first.`;
      };
    },
    /** Runs the tests of a removed guard until one fails. */
    async testRemovedGuard(guard: Guard): Promise<RemovalOutcome> {
      for (const project of vitest.projects) project.config.bail = 1;
      vitest.invalidateFile(join(folder, guard.file));
      const modules = (await runTestFiles([guard]))(guard);
      vitest.invalidateFile(join(folder, guard.file));
      const failedTests = modules.flatMap(listTests).filter((test) => test.result().state === 'failed');
      const coveringTest = failedTests.find(
        (test) => !listMessages(test).some((message) => TIMEOUT_MESSAGE_PATTERN.test(message)),
      );
      if (coveringTest)
        return { heldBy: `“${coveringTest.fullName}” fails: ${listMessages(coveringTest)[0]?.split('\n')[0]}` };
      return { failure: `${describeGuard(guard)}: ${explainOutcome(modules, failedTests)}` };
    },
    close: () => vitest.close(),
  };
}

/** Returns advice about a guard whose removal no test has detected. */
function explainOutcome(modules: readonly TestModule[], [timedOut]: readonly TestCase[]): string {
  if (timedOut) {
    return `“${timedOut.fullName}” timed out without it, which proves nothing. Let the test assert what it waits for.`;
  }
  const [error] = modules.flatMap(listErrors);
  if (error) return `did not run (${error.message}). Put something in its place that runs.`;
  if (modules.flatMap(listTests).length === 0) return 'did not run, and nothing says why.';
  return 'survived, no test fails without it. Write one in which a rival comes in between: see CONTRIBUTING.md.';
}

const describeGuard = (guard: Guard): string => `${formatName(guard)}, in ${guard.tests.join(' and ')}`;
/** Lists the tests that ran. */
const listTests = (module: TestModule): TestCase[] =>
  [...module.children.allTests()].filter((test) => ['passed', 'failed'].includes(test.result().state));
const listMessages = (test: TestCase): string[] => (test.result().errors ?? []).map(({ message }) => message);
const listErrors = (module: TestModule) => [
  ...module.errors(),
  ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
];
const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
