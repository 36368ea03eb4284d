import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const CLIENTS_FOLDER = import.meta.dirname;
const PACKAGES = join(CLIENTS_FOLDER, '../../node_modules');
const COMPILER_PATH = join(CLIENTS_FOLDER, 'node_modules/typescript/bin/tsc');

/** Milliseconds that a tool or a driver may take on a busy machine. */
const TOOL_TIMEOUT_MS = 300_000;

/** Runs a JavaScript file. @returns its exit code (null if it was killed), and its output */
async function run(script: string, ...options: string[]) {
  // Nobody is told that the tools were used, or asked for newer ones.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', DO_NOT_TRACK: '1' };
  const child = spawn(process.execPath, [script, ...options], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TOOL_TIMEOUT_MS,
  });
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code: code as number | null, stdout, stderr };
}

/** Runs a JavaScript file. @returns its standard output @throws Error with its output if it fails */
async function runOrFail(script: string, ...options: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(script, ...options);
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${stdout.slice(0, 5_000)}\n${stderr.slice(0, 5_000)}`);
  return stdout;
}

/** An error or warning that a linter reports. */
export interface Finding {
  rule: string;
  message: string;
  /** The path in the document, from its root. */
  documentPath: string[];
}

/** Lints a document with Spectral. */
export async function lintWithSpectral(document: string): Promise<Finding[]> {
  const script = join(PACKAGES, '@stoplight/spectral-cli/dist/index.js');
  const ruleset = join(CLIENTS_FOLDER, 'spectral.yaml');
  const { stdout, stderr } = await run(script, 'lint', document, '-r', ruleset, '-f', 'json', '--quiet');
  const findings = parseOutput<{ code: string; message: string; path: string[] }[]>(stdout, stderr);
  return findings.map(({ code, message, path }) => ({ rule: code, message, documentPath: path }));
}

/** Lints a document with Redocly. */
export async function lintWithRedocly(document: string): Promise<Finding[]> {
  const script = join(PACKAGES, '@redocly/cli/bin/cli.js');
  const config = join(CLIENTS_FOLDER, 'redocly.yaml');
  const options = ['--config', config, '--format', 'json', '--max-problems', '1000'];
  const { stdout, stderr } = await run(script, 'lint', document, ...options);
  const { problems } = parseOutput<{
    problems: { ruleId: string; message: string; location: { pointer: string }[] }[];
  }>(stdout, stderr);
  return problems.map(({ ruleId, message, location }) => ({
    rule: ruleId,
    message,
    documentPath: (location[0]?.pointer ?? '').split('/').slice(1).map(decodePointerSegment),
  }));
}

function parseOutput<T>(stdout: string, stderr: string): T {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no findings, but: ${stdout}\n${stderr}`);
  }
}

/** Decodes a segment of a JSON pointer. */
const decodePointerSegment = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: [],
  // Generated clients are no declarations; those of the language and of packages are not ours.
  skipLibCheck: true,
  outDir: 'compiled',
};

/**
 * Generates the clients of a document in a new folder, and compiles them together with their drivers.
 * @returns a function that runs a driver by name with an input, and returns the driver's results
 */
export async function makeClients(document: string, folder: string) {
  const driversFolder = join(CLIENTS_FOLDER, 'drivers');
  await mkdir(folder);
  await symlink(PACKAGES, join(folder, 'node_modules'));
  for (const name of await readdir(driversFolder)) await copyFile(join(driversFolder, name), join(folder, name));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
  await runOrFail(join(CLIENTS_FOLDER, 'generate.ts'), document, folder);
  await runOrFail(COMPILER_PATH, '--project', folder);
  return async (driver: string, driverInput: object): Promise<unknown> =>
    JSON.parse(await runOrFail(join(folder, 'compiled', `${driver}.js`), JSON.stringify(driverInput)));
}
