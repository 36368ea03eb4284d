import { chmod, link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { KEY_VARIABLES, listMissingKeys, makeKey, makeRandomSecret } from '../operations/keys.ts';
import { Problem } from '../operations/problem.ts';
import { writeSecretFile } from '../operations/secret-file.ts';
import { isAlive } from './processes.ts';

/** Secrets that a local start generates and keeps: the Worker's, by their variables, and two for local servers. */
export interface LocalSecrets {
  [variable: string]: string;
  PLATFORM_ADMIN_TOKEN: string;
  NEON_API_KEY: string;
  /** Password of the local PostgreSQL's superuser; the Worker does not get it. */
  POSTGRES_PASSWORD: string;
}

/** Folder of everything that a local start stores, locked by this process. */
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

/** Locks a folder by a file with the process's id, created atomically by a hard link; a dead process's lock is replaced. */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'lock');
  const ownLock = join(folder, `lock.${process.pid}`);
  await writeFile(ownLock, `${process.pid}\n`);
  try {
    for (;;) {
      const isLocked = await link(ownLock, file).then(
        () => false,
        (error: NodeJS.ErrnoException) => {
          if (error.code !== 'EEXIST') throw error;
          return true;
        },
      );
      if (!isLocked) return () => rm(file, { force: true });
      const holderPid = Number(await readFile(file, 'utf8').catch(() => ''));
      if (holderPid > 0 && holderPid !== process.pid && (await isStartProcess(holderPid))) {
        throw new Problem(
          `Another start (process ${holderPid}) runs on ${folder}: stop it, or set LOCAL_STATE_DIR to another folder.`,
        );
      }
      await removeStaleLock(file, holderPid);
    }
  } finally {
    await rm(ownLock, { force: true });
  }
}

/** Moves a dead process's lock away; restores it if another process has just created its own. */
async function removeStaleLock(file: string, holderPid: number): Promise<void> {
  const staleFile = `${file}.stale.${process.pid}`;
  await rename(file, staleFile).catch(() => undefined);
  const movedPid = Number(await readFile(staleFile, 'utf8').catch(() => ''));
  if (movedPid !== holderPid) await link(staleFile, file).catch(() => undefined);
  await rm(staleFile, { force: true });
}

/** Returns true if a process is a local start; false if another program got the same id later. */
async function isStartProcess(pid: number): Promise<boolean> {
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
  const storedSecrets: Record<string, string> = text === undefined ? {} : parseSecrets(text, file, folder);
  // A newer release may need a secret that an older one did not know.
  const secrets: LocalSecrets = { ...makeSecrets(Object.keys(storedSecrets)), ...storedSecrets };
  if (Object.keys(storedSecrets).length < Object.keys(secrets).length) {
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

/** Makes the secrets that are missing, on the first start or after an update; a key without any version gets version 1. */
function makeSecrets(storedNames: string[]): LocalSecrets {
  const keys = listMissingKeys(storedNames).map((key) => {
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
