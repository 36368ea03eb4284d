import { accessSync, constants, readFileSync, statfsSync } from 'node:fs';

const FOLDER = '/dev/shm';
const GIGABYTE = 1024 ** 3;

/**
 * Linux's folder in memory. @returns undefined where there is none, it has less than so many gigabytes left, or nothing may be
 * run from it, as in most containers
 */
export function memoryFolder(gigabytes: number): string | undefined {
  try {
    accessSync(FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(FOLDER);
    const [, , , options = ''] =
      readFileSync('/proc/mounts', 'utf8')
        .split('\n')
        .map((line) => line.split(' '))
        .findLast(([, place]) => place === FOLDER) ?? [];
    const isFit = bavail * bsize >= gigabytes * GIGABYTE && options !== '' && !options.split(',').includes('noexec');
    return isFit ? FOLDER : undefined;
  } catch {
    return undefined;
  }
}
