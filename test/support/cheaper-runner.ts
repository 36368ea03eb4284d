import { setTimeout as plainTimeout } from 'node:timers';

interface ModuleRunner {
  import(id: string): Promise<unknown>;
}

declare global {
  var __vitest_mocker__: { moduleRunner: ModuleRunner };
}

const MAIN = new URL('./worker.ts', import.meta.url).pathname;

const imports = new WeakMap<ModuleRunner, ModuleRunner['import']>();

/**
 * At each call of a Durable Object Vitest asks its process, a round trip away, what the Worker's module is: a third of what a
 * request of a test costs. From here on it is asked once a file.
 */
export function rememberMainModule(): void {
  const { moduleRunner } = globalThis.__vitest_mocker__;
  const load = imports.get(moduleRunner) ?? moduleRunner.import.bind(moduleRunner);
  imports.set(moduleRunner, load);
  let main: unknown;
  moduleRunner.import = async (id) => {
    if (id !== MAIN) return load(id);
    main ??= await load(id);
    return main;
  };
}

const PLAIN = Symbol.for('timers of the tests');

/** Vitest's plugin looks at the stack of whoever sets a timer, though it treats none with a delay differently. */
export function setTimersPlainly(): void {
  const { setTimeout: watched } = globalThis;
  if (PLAIN in watched) return;
  // Of those without one it keeps Vitest's own alive when a request ends: without that, a run can wait for ever.
  const plain = (work: () => void, delay?: number, ...rest: []) =>
    delay ? plainTimeout(work, delay, ...rest) : watched(work, delay, ...rest);
  globalThis.setTimeout = Object.assign(plain, { [PLAIN]: true }) as unknown as typeof setTimeout;
}
