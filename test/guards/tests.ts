import { join, relative } from 'node:path';
import { createVitest, type TestCase, type TestModule, type TestSpecification } from 'vitest/node';
import { formatName, type Guard } from './guard.ts';

/** What came of removing a guard: the test that fails and how, or what to do because none does. */
export interface Outcome {
  heldBy?: string;
  failure?: string;
}

/** What the runner says of a test that waited too long: on a busy machine it proves nothing. */
const TIMED_OUT = /^(?:Test|Hook) timed out in \d+ms/;

/** The project's tests, started once, in the folder of a copy. */
export async function openTests(folder: string) {
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';
  const options = { root: folder, watch: false, reporters: [{}], silent: true, maxWorkers: 1 };
  const vitest = await createVitest('test', options);

  /** @returns the files that hold a guard, as they ran; fails where they could not be run at all */
  const run = async (guards: readonly Guard[]): Promise<(guard: Guard) => TestModule[]> => {
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
    const ran = (module: TestModule) => listTests(module).length > 0;
    if (unhandledErrors.length > 0 && !testModules.some(ran)) throw unhandledErrors[0];
    return ({ tests }) =>
      testModules.filter(({ moduleId }) => tests.some((file) => relative(folder, moduleId) === file));
  };

  return {
    /** Runs the tests of all guards with every guard in place: which entries are wrong already? */
    async unfit(guards: readonly Guard[]): Promise<(guard: Guard) => string | undefined> {
      const modulesOf = await run(guards);
      return (guard) => {
        const modules = modulesOf(guard);
        const ran = modules.flatMap(listTests).some(({ fullName }) => fullName.includes(guard.title ?? ''));
        if (!ran) return `${describeGuard(guard)}: no test fits. Correct the entry in test/guards/lists.`;
        if (modules.every((module) => module.ok())) return undefined;
        return `${describeGuard(guard)} fails with every guard in place. Repair that first.`;
      };
    },
    /** Runs the tests of a guard that is removed, until one fails. */
    async outcome(guard: Guard): Promise<Outcome> {
      for (const project of vitest.projects) project.config.bail = 1;
      vitest.invalidateFile(join(folder, guard.file));
      const modules = (await run([guard]))(guard);
      vitest.invalidateFile(join(folder, guard.file));
      const failed = modules.flatMap(listTests).filter((test) => test.result().state === 'failed');
      const held = failed.find((test) => !listMessages(test).some((message) => TIMED_OUT.test(message)));
      if (held) return { heldBy: `“${held.fullName}” fails: ${listMessages(held)[0]?.split('\n')[0]}` };
      return { failure: `${describeGuard(guard)}: ${explainOutcome(modules, failed)}` };
    },
    close: () => vitest.close(),
  };
}

/** What to do about a guard of which no test showed what it is for. */
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
/** The tests that ran. */
const listTests = (module: TestModule): TestCase[] =>
  [...module.children.allTests()].filter((test) => ['passed', 'failed'].includes(test.result().state));
const listMessages = (test: TestCase): string[] => (test.result().errors ?? []).map(({ message }) => message);
const listErrors = (module: TestModule) => [
  ...module.errors(),
  ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
];
const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
