import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { KEY_VARIABLES, listMissingKeys, makeKey, makeRandomSecret } from '../operations/keys.ts';
import { Problem } from '../operations/problem.ts';
import { writeSecretFile } from '../operations/secret-file.ts';
import { isAlive } from './processes.ts';

/** The secrets that a local start generates and keeps: the Worker's, by their variables, and two for local servers. */
export interface LocalSecrets {
  [variable: string]: string;
  PLATFORM_ADMIN_TOKEN: string;
  NEON_API_KEY: string;
  /** The password of the local PostgreSQL's superuser; the Worker does not get it. */
  POSTGRES_PASSWORD: string;
}

/** The folder of everything that a local start stores, locked by this process. */
export interface StateFolder {
  path: string;
  secrets: LocalSecrets;
  release(): Promise<void>;
}

/** Opens the state folder, creating it and its secrets first. Throws `Problem` if it is locked or unusable. */
export async function openState(folder: string): Promise<StateFolder> {
  const path = resolve(folder);
  await mkdir(path, { recursive: true }).catch((cause: Error) => {
    throw new Problem(`The state folder ${path} cannot be made (${cause.message}): set LOCAL_STATE_DIR elsewhere.`, {
      cause,
    });
  });
  const release = await lockFolder(path);
  try {
    return { path, secrets: await readSecrets(path), release };
  } catch (error) {
    await release();
    throw error;
  }
}

/** The lock is a file with the process's id, created atomically by a hard link; a dead process's lock is replaced. */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'lock');
  const mine = join(folder, `lock.${process.pid}`);
  await writeFile(mine, `${process.pid}\n`);
  try {
    for (;;) {
      const taken = await link(mine, file).then(
        () => false,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return true;
        },
      );
      if (!taken) return () => rm(file, { force: true });
      const holder = Number(await readFile(file, 'utf8').catch(() => ''));
      if (holder > 0 && holder !== process.pid && (await isStart(holder))) {
        throw new Problem(
          `Another start (process ${holder}) runs on ${folder}: stop it, or set LOCAL_STATE_DIR to another folder.`,
        );
      }
      await removeStaleLock(file, holder);
    }
  } finally {
    await rm(mine, { force: true });
  }
}

/** Moves a dead process's lock away; restores it if another process has just created its own. */
async function removeStaleLock(file: string, holder: number): Promise<void> {
  const aside = `${file}.stale.${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  const moved = Number(await readFile(aside, 'utf8').catch(() => ''));
  if (moved !== holder) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

/** Whether a process is a start; false if another program got the same id later. */
async function isStart(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  return command === undefined || command.includes('start');
}

async function readSecrets(folder: string): Promise<LocalSecrets> {
  const file = join(folder, 'secrets.json');
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const kept: Record<string, string> = text === undefined ? {} : parseSecrets(text, file, folder);
  // A newer release may need a secret that an older one did not know.
  const secrets: LocalSecrets = { ...makeSecrets(Object.keys(kept)), ...kept };
  if (Object.keys(kept).length < Object.keys(secrets).length) {
    await writeSecretFile(file, `${JSON.stringify(secrets, null, 2)}\n`);
  } else await chmod(file, 0o600);
  return secrets;
}

function parseSecrets(text: string, file: string, folder: string): Record<string, string> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch (cause) {
    throw new Problem(`${file} is not readable as JSON: put back a copy of it, or delete ${folder} to begin anew.`, {
      cause,
    });
  }
}

/** Creates the secrets for the first start or a newer release: for keys, version 1 of those without a version. */
function makeSecrets(kept: string[]): LocalSecrets {
  const keys = listMissingKeys(kept).map((key) => {
    const secret = makeKey(key, 1);
    return [KEY_VARIABLES[key], key === 'jwt' ? `[${secret}]` : JSON.stringify({ 1: secret })];
  });
  return {
    ...Object.fromEntries(keys),
    PLATFORM_ADMIN_TOKEN: makeRandomSecret(),
    NEON_API_KEY: makeRandomSecret(),
    POSTGRES_PASSWORD: makeRandomSecret(),
  };
}
