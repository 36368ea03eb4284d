import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';

const MEMORY_FOLDER = '/dev/shm';
const GIGABYTE_BYTES = 1024 ** 3;

/**
 * Returns Linux's folder in memory; undefined where there is none, it has less than the given number of gigabytes left,
 * or nothing may be run from it, as in most containers.
 */
export function findMemoryFolder(gigabytes: number): string | undefined {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    const [, , , options = ''] =
      readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .map((line) => line.split(' '))
        .findLast(([, place]) => place === MEMORY_FOLDER) ?? [];
    const isUsable =
      bavail * bsize >= gigabytes * GIGABYTE_BYTES && options !== '' && !options.split(',').includes('noexec');
    return isUsable ? MEMORY_FOLDER : undefined;
  } catch {
    return undefined;
  }
}
