import { spawnSync } from 'node:child_process';
import { chown, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isSuccessful, Problem } from '../operations/problem.ts';
import { copyTree, findBinaries, type PostgresBinaries } from './postgres-binaries.ts';

/** User that PostgreSQL runs as; empty means the current user. */
export interface PostgresUser {
  uid?: number;
  gid?: number;
}

/**
 * Returns the user that PostgreSQL runs as. PostgreSQL refuses to run as root, so for root it is `postgres`, else
 * `nobody`; no user is added to the machine.
 * @throws Problem if the machine has neither
 */
export async function ensureUnprivilegedUser(): Promise<PostgresUser> {
  if (process.getuid?.() !== 0) return {};
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  const foundUser = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  const [uid, gid] = [Number(foundUser?.[2]), Number(foundUser?.[3])];
  if (!(uid > 0) || !(gid >= 0)) {
    throw new Problem(
      'PostgreSQL does not run as root, and this machine has no user "postgres" or "nobody": start as an ordinary user.',
    );
  }
  return { uid, gid };
}

/**
 * Finds the folder of PostgreSQL's data and log, and binaries that its user can reach: normally the state folder and
 * the installation. If root works below a private folder (`/root`, `mktemp -d`), the unprivileged user can enter
 * neither, so both are in a folder of `/var/tmp`, which a file in the state folder names.
 */
export async function findHome(
  stateDir: string,
  binaries: PostgresBinaries,
  user: PostgresUser,
): Promise<{ folder: string; binaries: PostgresBinaries }> {
  if (user.uid === undefined) return { folder: stateDir, binaries };
  const pointerFile = join(stateDir, 'outside');
  const knownFolder = (await readFile(pointerFile, 'utf8').catch(() => '')).trim();
  if (knownFolder !== '' && (await isSuccessful(stat(knownFolder))))
    return { folder: knownFolder, binaries: await makeBinariesReachable(knownFolder, binaries, user) };

  await changeOwner(stateDir, user);
  if (canEnter(stateDir, user))
    return { folder: stateDir, binaries: await makeBinariesReachable(stateDir, binaries, user) };
  const folder = await mkdtemp('/var/tmp/data-console-postgres-');
  await changeOwner(folder, user);
  await writeFile(pointerFile, `${folder}\n`);
  return { folder, binaries: await makeBinariesReachable(folder, binaries, user) };
}

async function makeBinariesReachable(
  folder: string,
  binaries: PostgresBinaries,
  user: PostgresUser,
): Promise<PostgresBinaries> {
  if (canRun(binaries, user)) return binaries;
  const copiedBinaries = findBinaries(join(folder, 'native'));
  if (!canRun(copiedBinaries, user)) await copyTree(binaries.home, copiedBinaries.home);
  return copiedBinaries;
}

const canRun = (binaries: PostgresBinaries, user: PostgresUser): boolean =>
  spawnSync(binaries.postgres, ['--version'], { ...user, stdio: 'ignore', cwd: '/' }).status === 0;

const canEnter = (folder: string, user: PostgresUser): boolean =>
  spawnSync('/bin/sh', ['-c', 'cd "$0" && test -w .', folder], { ...user, stdio: 'ignore', cwd: '/' }).status === 0;

async function changeOwner(folder: string, user: PostgresUser): Promise<void> {
  if (user.uid !== undefined && user.gid !== undefined) await chown(folder, user.uid, user.gid);
}
