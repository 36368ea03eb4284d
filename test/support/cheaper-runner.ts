interface ModuleRunner {
  import(id: string): Promise<unknown>;
}

declare global {
  var __vitest_mocker__: { moduleRunner: ModuleRunner };
}

const MAIN_MODULE = new URL('./main.ts', import.meta.url).pathname;

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
    if (id !== MAIN_MODULE) return load(id);
    main ??= await load(id);
    return main;
  };
}

/**
 * Vitest's plugin looks at the stack of whoever sets a timer, for Vitest's own, which took theirs before any test: ours are set
 * as the runtime has it.
 */
export function setTimersPlainly(): void {
  globalThis.setTimeout = Object.getPrototypeOf(globalThis).setTimeout.bind(globalThis);
}
