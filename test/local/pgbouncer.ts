import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chown, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureUnprivilegedUser } from '../../local/postgres-user.ts';
import { findFreePort } from '../../local/processes.ts';

const PGBOUNCER_PROGRAM = process.env.PGBOUNCER_PATH ?? 'pgbouncer';

/** True if there is a PgBouncer at `PGBOUNCER_PATH` or on the `PATH`. */
export const hasPgBouncer = spawnSync(PGBOUNCER_PROGRAM, ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * Starts PgBouncer with Neon's configuration: transactions are pooled, and passwords are sent in clear, as the tunnel is
 * encrypted.
 */
export async function startPgBouncer(
  postgres: { host: string; port: number; password: string },
  folder: string,
): Promise<{ port: number; close(): void }> {
  const port = await findFreePort();
  const files = { settings: join(folder, 'pgbouncer.ini'), users: join(folder, 'users.txt') };
  await writeFile(files.users, `"postgres" "${postgres.password}"\n`);
  const settings = [
    '[databases]',
    `* = host=${postgres.host} port=${postgres.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = plain',
    `auth_file = ${files.users}`,
    'pool_mode = transaction',
    'default_pool_size = 30',
    'max_client_conn = 1000',
  ];
  await writeFile(files.settings, `${settings.join('\n')}\n`);
  const user = await ensureUnprivilegedUser();
  for (const path of [folder, ...Object.values(files)]) {
    if (user.uid !== undefined && user.gid !== undefined) await chown(path, user.uid, user.gid);
  }
  const process = spawn(PGBOUNCER_PROGRAM, ['--quiet', files.settings], { ...user, stdio: 'ignore', cwd: '/' });
  await waitUntilListening(process, port);
  return { port, close: () => process.kill('SIGKILL') };
}

async function waitUntilListening(process: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (process.exitCode !== null) throw new Error(`PgBouncer ended with ${process.exitCode}`);
    const isListening = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port }, () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (isListening) return;
    await sleep(50);
  }
}
