import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import packaged, { inflate } from '@sparticuz/chromium';

/** A Chromium that can be launched: `libraries` is the folder of those it needs, when the system may lack them. */
export interface Chromium {
  path: string;
  libraries: string | null;
}

const PATHS = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The system's Chromium, else the one that comes with the development packages; null where that does not run. */
export async function findChromium(): Promise<Chromium | null> {
  const path = PATHS.find((candidate) => candidate !== undefined && existsSync(candidate));
  if (path !== undefined) return { path, libraries: null };
  if (process.platform !== 'linux' || process.arch !== 'x64') return null;
  const files = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '..', 'bin');
  await inflate(join(files, 'al2023.tar.br'));
  return { path: await packaged.executablePath(), libraries: join(tmpdir(), 'al2023', 'lib') };
}
