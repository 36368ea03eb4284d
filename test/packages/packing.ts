import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = join(import.meta.dirname, '..', '..');
const exec = promisify(execFile);

/** Runs a program; what it prints is part of the error when it fails. */
export const run = (program: string, given: string[], folder: string): Promise<string> =>
  exec(program, given, { cwd: folder, maxBuffer: 1e8 }).then(
    ({ stdout }) => stdout,
    (error: Error & { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.message}\n${error.stdout}\n${error.stderr}`);
    },
  );

const npm = (given: string[], folder: string) => run('npm', [...given, '--offline', '--no-audit', '--no-fund'], folder);

/** A folder with nothing but the two packages, as their archives hold them, and the sources of the sample. */
export async function aFreshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'data-console-packages-'));
  const archives = await Promise.all(
    ['client', 'embed'].map(async (name) => {
      await npm(['pack', '--pack-destination', folder], join(PROJECT, name));
      const { name: named, version } = JSON.parse(await readFile(join(PROJECT, name, 'package.json'), 'utf8'));
      return `./${named}-${version}.tgz`;
    }),
  );
  await writeFile(join(folder, 'package.json'), '{ "name": "fresh", "version": "1.0.0", "type": "module" }\n');
  await npm(['install', ...archives], folder);
  await cp(join(PROJECT, 'test/packages/sample'), folder, { recursive: true });
  return folder;
}

/** The examples of a README, one module each. @returns their names */
export async function writeExamples(folder: string): Promise<string[]> {
  const text = await readFile(join(PROJECT, 'client/README.md'), 'utf8');
  const examples = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code as string);
  return Promise.all(
    examples.map(async (code, number) => {
      const name = `example-${number}.ts`;
      await writeFile(join(folder, name), code);
      return name;
    }),
  );
}

/** The compilers that the packages were made with, and the one before. */
export const COMPILERS = { 'TypeScript 7': PROJECT, 'TypeScript 5': join(PROJECT, 'test/generated-clients') };

export interface Compiling {
  compiler?: keyof typeof COMPILERS;
  resolution: 'node16' | 'bundler';
  lib?: string;
  types?: string[];
  /** Does not look into the declarations of packages, which takes most of the time. */
  trusts?: boolean;
  emits?: boolean;
}

/** Compiles modules as strictly as it goes, declarations of packages included. @throws what the compiler says */
export async function compile(
  folder: string,
  files: string[],
  { compiler = 'TypeScript 7', resolution, lib = 'es2024', types = [], trusts = false, emits = false }: Compiling,
): Promise<void> {
  const tsc = join(COMPILERS[compiler], 'node_modules/typescript/bin/tsc');
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
  await run(process.execPath, [tsc, '-p', config], folder);
}

/** This Node and the machine's own, by their versions. */
export const NODES: [version: string, path: string][] = [
  process.execPath,
  ...(process.env.PATH ?? '').split(delimiter).map((place) => join(place, 'node')),
]
  .filter((path) => existsSync(path))
  .map((path): [string, string] => [execFileSync(path, ['--version'], { encoding: 'utf8' }).trim(), path])
  .filter(([version], at, all) => all.findIndex(([other]) => other === version) === at);
