import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Guard } from './guard.ts';
import type { RemovalOutcome } from './tests.ts';

/** A request to the process of a copy, which answers one request after the other. */
export type CopyRequest = { unfit: Guard[] } | { without: Guard };
/** The problem of each entry, or null; or the outcome of removing the guard. */
export type CopyResponse = { problems: (string | null)[] } | RemovalOutcome;

/** The number of characters that are shown of the last output of a process that has ended. */
const MAX_MESSAGE_CHARACTERS = 2000;

/** Creates a copy of the project, whose tests run in a separate process. */
export function createCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'guards-'));
  for (const file of listProjectFiles()) cpSync(file, join(folder, file));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  // What the Worker logs would drown what is said of the guards.
  const child = fork(join(import.meta.dirname, 'copy-worker.ts'), {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let lastOutput = '';
  child.stderr?.on('data', (chunk) => {
    lastOutput = `${lastOutput}${chunk}`.slice(-MAX_MESSAGE_CHARACTERS);
  });
  const processEnd = once(child, 'exit').then(() => {
    throw new Error(`The process that runs the tests has ended.\n${lastOutput}`);
  });
  processEnd.catch(() => {});

  const sendRequest = async (question: CopyRequest): Promise<CopyResponse> => {
    const answer = once(child, 'message');
    child.send(question);
    return (await Promise.race([answer, processEnd]))[0];
  };
  return {
    /** Runs the tests of guards with every guard in place. @returns the problem of each entry, or `null` */
    findUnfitGuards: async (guards: Guard[]) =>
      ((await sendRequest({ unfit: guards })) as { problems: (string | null)[] }).problems,
    /** Runs the tests of a guard after removing it. */
    testWithoutGuard: async (guard: Guard) => (await sendRequest({ without: guard })) as RemovalOutcome,
    async close(): Promise<void> {
      // It ends what it started, and then itself.
      if (child.connected) child.disconnect();
      await processEnd.catch(() => {});
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ProjectCopy = ReturnType<typeof createCopy>;

/** Lists the files that git tracks or would add. */
function listProjectFiles(): Set<string> {
  const gitArguments = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  return new Set(execFileSync('git', gitArguments, { encoding: 'utf8' }).split('\0').filter(Boolean));
}
