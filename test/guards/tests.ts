import { join, relative } from 'node:path';
import { createVitest, type TestModule, type TestSpecification } from 'vitest/node';
import { type Guard, nameOf } from './guard.ts';

/** What came of removing a guard: the test that fails, or what to do because none does. */
export interface Outcome {
  heldBy?: string;
  failure?: string;
}

/** The project's tests, started once, in the folder of a copy. */
export async function openTests(folder: string) {
  process.chdir(folder);
  process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';
  const options = { root: folder, watch: false, reporters: [{}], silent: true, maxWorkers: 1 };
  const vitest = await createVitest('test', options);

  /** @returns the files that hold a guard, as they ran */
  const run = async (guards: readonly Guard[]): Promise<(guard: Guard) => TestModule[]> => {
    const specifications: TestSpecification[] = [];
    for (const file of new Set(guards.flatMap(({ tests }) => tests))) {
      const titles = guards.filter(({ tests }) => tests.includes(file)).map(({ title = '' }) => escaped(title));
      const testNamePattern = new RegExp(titles.join('|'));
      for (const { project, moduleId } of await vitest.globTestSpecifications([join(folder, file)])) {
        specifications.push(project.createSpecification(moduleId, { testNamePattern }));
      }
    }
    const { testModules } = await vitest.runTestSpecifications(specifications);
    return ({ tests }) =>
      testModules.filter(({ moduleId }) => tests.some((file) => relative(folder, moduleId).startsWith(file)));
  };

  return {
    /** Runs the tests of all guards with every guard in place: which entries are wrong already? */
    async unfit(guards: readonly Guard[]): Promise<(guard: Guard) => string | undefined> {
      const modulesOf = await run(guards);
      return (guard) => {
        const modules = modulesOf(guard);
        const ran = modules.flatMap(testsOf).some(({ fullName }) => fullName.includes(guard.title ?? ''));
        if (!ran) return `${placed(guard)}: no test fits. Correct the entry in test/guards/lists.`;
        if (modules.every((module) => module.ok())) return undefined;
        return `${placed(guard)} fails with every guard in place. Repair that first.`;
      };
    },
    /** Runs the tests of a guard that is removed, until one fails. */
    async outcome(guard: Guard): Promise<Outcome> {
      vitest.config.bail = 1;
      vitest.invalidateFile(join(folder, guard.file));
      const modules = (await run([guard]))(guard);
      vitest.invalidateFile(join(folder, guard.file));
      const failed = modules.flatMap(testsOf).find((test) => test.result().state === 'failed');
      if (failed) return { heldBy: failed.fullName };
      const [error] = modules.flatMap(errorsOf);
      const failure = error
        ? `did not run (${error.message}). Put something in its place that runs.`
        : 'survived, no test fails without it. Write one in which a rival comes in between: see CONTRIBUTING.md.';
      return { failure: `${placed(guard)}: ${failure}` };
    },
    close: () => vitest.close(),
  };
}

const placed = (guard: Guard): string => `${nameOf(guard)}, in ${guard.tests.join(' and ')}`;
/** The tests that ran. */
const testsOf = (module: TestModule) =>
  [...module.children.allTests()].filter((test) => test.result().state !== 'skipped');
const errorsOf = (module: TestModule) => [
  ...module.errors(),
  ...[...module.children.allSuites()].flatMap((suite) => suite.errors()),
];
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
