import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = join(import.meta.dirname, '..', '..');
const execFileAsync = promisify(execFile);

/** Runs a program; its output is part of the error when it fails. */
export const runProgram = (program: string, programArguments: string[], folder: string): Promise<string> =>
  execFileAsync(program, programArguments, { cwd: folder, maxBuffer: 1e8 }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`);
    },
  );

const runNpm = (npmArguments: string[], folder: string) =>
  runProgram('npm', [...npmArguments, '--offline', '--no-audit', '--no-fund'], folder);

/** Creates a folder that holds only the two packages, unpacked from their archives, and the sources of the sample. */
export async function createFreshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-packages-'));
  const archives = await Promise.all(
    ['client', 'embed'].map(async (name) => {
      await runNpm(['pack', '--pack-destination', folder], join(PROJECT, name));
      const { name: packageName, version } = JSON.parse(await readFile(join(PROJECT, name, 'package.json'), 'utf8'));
      return `./${packageName}-${version}.tgz`;
    }),
  );
  await writeFile(join(folder, 'package.json'), '{ "name": "fresh", "version": "1.0.0", "type": "module" }\n');
  await runNpm(['install', ...archives], folder);
  await cp(join(PROJECT, 'test/packages/sample'), folder, { recursive: true });
  return folder;
}

/** Writes the examples of a README, one module each. @returns the names of the modules */
export async function writeExamples(folder: string): Promise<string[]> {
  const text = await readFile(join(PROJECT, 'client/README.md'), 'utf8');
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  return Promise.all(
    examples.map(async (code, exampleIndex) => {
      const name = `example-${exampleIndex}.ts`;
      await writeFile(join(folder, name), code);
      return name;
    }),
  );
}

/** The compiler that the packages are built with, and the major version before it. */
export const COMPILER_FOLDERS = { 'TypeScript 7': PROJECT, 'TypeScript 5': join(PROJECT, 'test/generated-clients') };

export interface CompileOptions {
  compiler?: keyof typeof COMPILER_FOLDERS;
  resolution: 'node16' | 'bundler';
  lib?: string;
  types?: string[];
  /** Whether the declarations of packages are not checked, which takes most of the time. */
  skipsLibraryCheck?: boolean;
  emitsFiles?: boolean;
}

/** Compiles modules as strictly as possible, declarations of packages included. @throws the compiler's messages */
export async function compileModules(
  folder: string,
  files: string[],
  {
    compiler = 'TypeScript 7',
    resolution,
    lib = 'es2024',
    types = [],
    skipsLibraryCheck: trusts = false,
    emitsFiles: emits = false,
  }: CompileOptions,
): Promise<void> {
  const compilerPath = join(COMPILER_FOLDERS[compiler], 'node_modules/typescript/bin/tsc');
  const typeRoots = [join(PROJECT, 'node_modules/@types'), join(PROJECT, 'node_modules')];
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: trusts,
    target: 'es2022',
    module: resolution === 'node16' ? 'node16' : 'esnext',
    moduleResolution: resolution,
    lib: lib.split(','),
    types,
    typeRoots,
    noEmit: !emits,
  };
  const config = `tsconfig.${compiler.at(-1)}-${resolution}-${types.at(-1)?.replaceAll(/\W/g, '') ?? 'none'}.json`;
  await writeFile(join(folder, config), JSON.stringify({ compilerOptions, files }));
  await runProgram(process.execPath, [compilerPath, '-p', config], folder);
}

/** The versions and paths of the Node that runs the tests and of each other Node on the `PATH`. */
export const NODE_PATHS: [version: string, path: string][] = [
  process.execPath,
  ...(process.env.PATH ?? '').split(delimiter).map((pathFolder) => join(pathFolder, 'node')),
]
  .filter((path) => existsSync(path))
  .map((path): [string, string] => [execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(), path])
  .filter(([version], at, all) => all.findIndex(([other]) => other === version) === at);
