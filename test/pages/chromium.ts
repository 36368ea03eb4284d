import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import packaged, { inflate } from '@sparticuz/chromium';

/** A Chromium that can be launched: `libraries` is the folder of shared libraries it needs, when the system may lack them. */
export interface Chromium {
  path: string;
  libraries: string | null;
}

const SYSTEM_PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Returns the Chromium that `CHROMIUM_PATH` names, else the one of the development packages, which is the same on each machine
 * and twice as fast as some systems'; the system's only where that does not run. Null where there is none.
 */
export async function findChromium(): Promise<Chromium | null> {
  const configuredPath = process.env.CHROMIUM_PATH;
  if (configuredPath) return { path: configuredPath, libraries: null };
  const packagedChromium = await unpackChromium();
  if (packagedChromium && (await canRun(packagedChromium))) return packagedChromium;
  const path = SYSTEM_PATHS.find((candidate) => existsSync(candidate));
  return path === undefined ? null : { path, libraries: null };
}

async function unpackChromium(): Promise<Chromium | null> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const files = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '..', 'bin');
  await inflate(join(files, 'al2023.tar.br'));
  return { path: await packaged.executablePath(), libraries: join(tmpdir(), 'al2023', 'lib') };
}

const canRun = ({ path, libraries }: Chromium): Promise<boolean> =>
  promisify(execFile)(path, ['--version'], {
    env: { ...process.env, ...(libraries !== null && { LD_LIBRARY_PATH: libraries }) },
  }).then(
    () => true,
    () => false,
  );
