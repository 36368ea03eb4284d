import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Guard } from './guard.ts';
import type { Outcome } from './tests.ts';

/** What a copy is asked, by itself one thing after the other. */
export type Question = { unfit: Guard[] } | { without: Guard };
/** What is wrong with each entry, where something is; or what came of removing the guard. */
export type Answer = { problems: (string | null)[] } | Outcome;

/** Characters of what a process said last, should it end. */
const MAX_MESSAGE_CHARACTERS = 2000;

/** A copy of the project, whose tests run in a process of its own. */
export function openCopy() {
  const folder = mkdtempSync(join(tmpdir(), 'guards-'));
  for (const file of listProjectFiles()) cpSync(file, join(folder, file));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  // What the Worker logs would drown what is said of the guards.
  const child = fork(join(import.meta.dirname, 'in-copy.ts'), {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-MAX_MESSAGE_CHARACTERS);
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`The process that runs the tests has ended.\n${said}`);
  });
  ended.catch(() => {});

  const ask = async (question: Question): Promise<Answer> => {
    const answer = once(child, 'message');
    child.send(question);
    return (await Promise.race([answer, ended]))[0];
  };
  return {
    /** Runs the tests of guards with every guard in place. @returns what is wrong with each entry, or `null` */
    unfit: async (guards: Guard[]) => ((await ask({ unfit: guards })) as { problems: (string | null)[] }).problems,
    /** Runs the tests of a guard without it. */
    outcomeWithout: async (guard: Guard) => (await ask({ without: guard })) as Outcome,
    async close(): Promise<void> {
      // It ends what it started, and then itself.
      if (child.connected) child.disconnect();
      await ended.catch(() => {});
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Copy = ReturnType<typeof openCopy>;

/** What git knows of the project or would take. */
function listProjectFiles(): Set<string> {
  const arguments_ = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  return new Set(execFileSync('git', arguments_, { encoding: 'utf8' }).split('\0').filter(Boolean));
}
