import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { Problem } from '../operations/problem.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { ensureUnprivilegedUser, findHome, type PostgresUser } from './postgres-user.ts';
import { findFreePort, isAlive, stopWhenParentDies } from './processes.ts';

export interface LocalPostgresOptions {
  /** Folder of the server's data and log; created if missing. */
  stateDir: string;
  /** Password of the superuser `postgres`; set by the first start in `stateDir`. */
  password: string;
  /** True for a server whose data may be lost: no fsync, faster. */
  isThrowaway?: boolean;
}

/** Running PostgreSQL that belongs to this process. */
export interface LocalPostgres {
  host: '127.0.0.1';
  port: number;
  password: string;
  /** Superuser connection string of database `postgres`. */
  url: string;
  /** Process id of the postmaster. */
  pid: number;
  /** All folders with the server's files: `stateDir`, and another one if root works in a private folder. */
  folders: string[];
  /** Promise that resolves when the server ends for any reason. */
  exitPromise: Promise<void>;
  /** Stops the server, including open sessions, and waits until it has ended. Idempotent. */
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 60_000;
const SUPERUSER = 'postgres';

/**
 * Starts the embedded PostgreSQL on a free port of 127.0.0.1, creating its data on the first start. First stops a
 * server that an earlier, killed start left on the same data. The server ends when this process ends, in any way.
 * Throws `Problem` when the binaries or the data are unusable.
 */
export async function startPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  await mkdir(options.stateDir, { recursive: true });
  const user = await ensureUnprivilegedUser();
  const { folder, binaries } = await findHome(options.stateDir, await findPostgresBinaries(), user);
  const data = join(folder, 'data');
  const log = join(folder, 'postgres.log');
  await initialiseData(binaries, data, options.password, user);
  await changeOwner(data, user);
  await stopLeftoverServer(binaries, data, user);

  const port = await findFreePort();
  const output = openSync(log, 'w', 0o644);
  const server = spawn(binaries.postgres, makeServerArguments(data, port, options.isThrowaway === true), {
    // The server is in a group of its own: Ctrl-C in the terminal reaches this process only, which then stops the
    // server.
    detached: true,
    stdio: ['ignore', output, output],
    env: makeServerEnvironment(),
    ...user,
  });
  closeSync(output);
  await once(server, 'spawn').catch((cause: Error) => {
    throw new Problem(`PostgreSQL cannot be run (${cause.message}): run "rm -rf node_modules && npm ci".`, { cause });
  });
  const pid = server.pid as number;
  const exitPromise = once(server, 'exit').then(() => undefined);
  const watchdog = stopWhenParentDies(pid, 'INT');

  const stopServer = async () => {
    // SIGINT is PostgreSQL's "fast" shutdown: it ends sessions and writes the data.
    if (server.exitCode === null && server.signalCode === null) server.kill('SIGINT');
    await exitPromise;
    watchdog.release();
  };
  try {
    await waitUntilReady(port, options.password, server, () => findDataProblem(options.stateDir, log));
  } catch (error) {
    await stopServer();
    throw error;
  }
  const url = `postgresql://${SUPERUSER}:${encodeURIComponent(options.password)}@127.0.0.1:${port}/postgres`;
  return {
    host: '127.0.0.1',
    port,
    password: options.password,
    url,
    pid,
    folders: [...new Set([options.stateDir, folder])],
    exitPromise,
    stop: stopServer,
  };
}

/** Creates the data in another folder first, so that an interrupted start leaves nothing incomplete in place. */
async function initialiseData(
  binaries: PostgresBinaries,
  data: string,
  password: string,
  user: PostgresUser,
): Promise<void> {
  const files = await readdir(data).catch(() => [] as string[]);
  if (files.includes('PG_VERSION')) return;
  if (files.length > 0) {
    throw new Problem(`The folder ${data} is not a PostgreSQL data folder: move it away or delete it.`);
  }
  await rm(data, { recursive: true, force: true });
  const newFolder = `${data}.new`;
  await rm(newFolder, { recursive: true, force: true });
  const passwordFile = `${data}.password`;
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) await chown(passwordFile, user.uid, user.gid);
  try {
    await runProgram(
      binaries.initdb,
      [
        `--pgdata=${newFolder}`,
        `--username=${SUPERUSER}`,
        `--pwfile=${passwordFile}`,
        // Clear text over loopback, as Neon's proxy asks for it inside TLS: the driver can then send password and first
        // query at once.
        '--auth=password',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--no-sync',
      ],
      user,
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
  await rename(newFolder, data);
}

/** Gives data that root copied to the user that PostgreSQL runs as. */
async function changeOwner(data: string, user: PostgresUser): Promise<void> {
  if (user.uid === undefined || (await stat(data)).uid === user.uid) return;
  await runProgram('chown', ['-R', `${user.uid}:${user.gid}`, data], {});
}

/** Stops the server that a killed start left on `data`, and deletes a pid file whose id another process has now. */
async function stopLeftoverServer(binaries: PostgresBinaries, data: string, user: PostgresUser): Promise<void> {
  const pidFile = join(data, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return;
  if (await isPostgres(pid)) {
    await runProgram(binaries.pgCtl, ['stop', '-D', data, '-m', 'fast', '-w', '-t', '20'], user);
  } else {
    await rm(pidFile, { force: true });
  }
}

async function isPostgres(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (command !== undefined) return command.includes('postgres');
  const { stdout } = await runProgram('ps', ['-p', String(pid), '-o', 'command='], {}).catch(() => ({ stdout: '' }));
  return stdout.includes('postgres');
}

/** Settings for data that may be lost. Autovacuum would start a process a minute for each of hundreds of databases. */
const THROWAWAY_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  scram_iterations: '1',
  autovacuum: 'off',
};

function makeServerArguments(data: string, port: number, isThrowaway: boolean): string[] {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    // Without replicas `minimal` is enough, and COPY into a table created in the same transaction may skip the log.
    wal_level: 'minimal',
    max_wal_senders: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Statements and their values are users' data: they stay out of the log.
    log_min_messages: 'fatal',
    log_min_error_statement: 'panic',
    ...(isThrowaway ? THROWAWAY_SETTINGS : {}),
  };
  return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

const makeServerEnvironment = (): Record<string, string> => ({ PATH: process.env.PATH ?? '', LC_ALL: 'C', TZ: 'UTC' });

async function waitUntilReady(
  port: number,
  password: string,
  server: { exitCode: number | null; signalCode: string | null },
  findProblem: () => Promise<Problem>,
): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (server.exitCode !== null || server.signalCode !== null) throw await findProblem();
    const client = new Client({ host: '127.0.0.1', port, user: SUPERUSER, password, database: 'postgres' });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if ((error as { code?: string }).code === '28P01') {
        throw new Problem(
          "The database's password is not the one kept in secrets.json: delete the whole state folder to begin anew.",
        );
      }
      if (Date.now() > deadline) throw await findProblem();
      await sleep(50);
    }
  }
}

async function findDataProblem(stateDir: string, log: string): Promise<Problem> {
  const lines = (await readFile(log, 'utf8').catch(() => '')).split('\n');
  const reason = lines.findLast((line) => /FATAL|PANIC|ERROR/.test(line)) ?? lines.findLast((line) => line !== '');
  return new Problem(
    `PostgreSQL cannot start on its data in ${stateDir} (${reason?.trim() ?? 'it gave no reason'}): ` +
      `put back a copy of it, or delete all of ${dirname(stateDir)} to begin anew.`,
  );
}

/** Runs a program to its end; rejects with its stderr if it fails. */
const runProgram = (program: string, args: string[], user: PostgresUser): Promise<{ stdout: string }> =>
  promisify(execFile)(program, args, { env: makeServerEnvironment(), ...user }).catch(({ stderr, stdout, message }) => {
    throw new Problem(`${program} failed: ${stderr?.trim() || stdout?.trim() || message}`);
  });
