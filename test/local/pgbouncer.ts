import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chown, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureUnprivilegedUser } from '../../local/postgres-user.ts';
import { findFreePort } from '../../local/processes.ts';

const found = process.env.PGBOUNCER_PATH ?? 'pgbouncer';

/** Whether there is a PgBouncer at `PGBOUNCER_PATH` or on the `PATH`. */
export const hasPgBouncer = spawnSync(found, ['--version'], { stdio: 'ignore' }).status === 0;

/** Starts PgBouncer as Neon configures it: transactions are pooled, and passwords are asked in clear, as the tunnel is encrypted. */
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
  const process = spawn(found, ['--quiet', files.settings], { ...user, stdio: 'ignore', cwd: '/' });
  await untilListening(process, port);
  return { port, close: () => process.kill('SIGKILL') };
}

async function untilListening(process: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (process.exitCode !== null) throw new Error(`PgBouncer ended with ${process.exitCode}`);
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port }, () => resolve(true));
      socket.on('error', () => resolve(false));
      socket.on('connect', () => socket.destroy());
    });
    if (isThere) return;
    await sleep(50);
  }
}
