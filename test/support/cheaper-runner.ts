interface ModuleRunner {
  import(id: string): Promise<unknown>;
}

declare global {
  var __vitest_mocker__: { moduleRunner: ModuleRunner };
}

const MAIN_MODULE = new URL('./main.ts', import.meta.url).pathname;

const originalImports = new WeakMap<ModuleRunner, ModuleRunner['import']>();

/**
 * Makes Vitest load the Worker's module once a file instead of at each call of a Durable Object, which needs a round trip to its
 * process: a third of the cost of a test's request.
 */
export function rememberMainModule(): void {
  const { moduleRunner } = globalThis.__vitest_mocker__;
  const load = originalImports.get(moduleRunner) ?? moduleRunner.import.bind(moduleRunner);
  originalImports.set(moduleRunner, load);
  let main: unknown;
  moduleRunner.import = async (id) => {
    if (id !== MAIN_MODULE) return load(id);
    main ??= await load(id);
    return main;
  };
}

/**
 * Gives tests the runtime's own timer functions. Vitest's plugin inspects the stack of every caller that sets a timer, to find
 * Vitest's own timers, which are set before any test.
 */
export function restoreRuntimeTimers(): void {
  globalThis.setTimeout = Object.getPrototypeOf(globalThis).setTimeout.bind(globalThis);
}
