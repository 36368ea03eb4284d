import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { listen } from './servers.ts';

/** Finds a TCP port of 127.0.0.1 that is free now. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Returns true if a process with that id exists, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Makes sure that process `pid` gets `signal` when this process ends without stopping it, even by SIGKILL: a shell
 * waits on a pipe that only this process holds open. `release` ends the watch after an orderly stop.
 */
export function stopWhenParentDies(pid: number, signal: 'INT' | 'TERM' | 'KILL'): { release(): void } {
  const watcher = spawn('/bin/sh', ['-c', `read -r line && exit 0; kill -${signal} "$0" 2>/dev/null`, String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.unref();
  // The watch may be ended by a person. It is only a precaution, so that is not reported.
  watcher.on('error', () => undefined);
  watcher.stdin.on('error', () => undefined);
  return {
    release: () => {
      watcher.stdin.end('released\n');
    },
  };
}
