import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { isSuccessful } from '../operations/problem.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the folder with the output of `bundle` for the sources under a configuration, kept for a day after its last use. */
export async function findOrMakeBundle(
  projectDir: string,
  config: string,
  bundle: (folder: string) => Promise<unknown>,
): Promise<string> {
  const cacheFolder = join(projectDir, 'node_modules', '.cache', 'workers');
  const bundleFolder = join(cacheFolder, await computeDigest(projectDir, config));
  const now = new Date();
  // Somebody who begins at the same time may remove what nobody has used for a day.
  if (await isSuccessful(utimes(bundleFolder, now, now))) return bundleFolder;
  await removeOldBundles(cacheFolder);
  const newFolder = `${bundleFolder}.${process.pid}`;
  await rm(newFolder, { recursive: true, force: true });
  await bundle(newFolder);
  // Another process may have made the same meanwhile.
  await rename(newFolder, bundleFolder).catch(() => rm(newFolder, { recursive: true }));
  return bundleFolder;
}

async function computeDigest(projectDir: string, config: string): Promise<string> {
  const folders = ['src', 'local/limits'].map((folder) => join(projectDir, folder));
  const sources = await Promise.all(
    folders.map((folder) => readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])),
  );
  const files = sources
    .flat()
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const digest = createHash('sha256').update(config);
  for (const file of [...files.sort(), join(projectDir, 'package-lock.json'), join(projectDir, 'tsconfig.json')]) {
    const content = await readFile(file);
    digest.update(`\n${file} ${content.length}\n`).update(content);
  }
  return digest.digest('hex').slice(0, 32);
}

async function removeOldBundles(cacheFolder: string): Promise<void> {
  await mkdir(cacheFolder, { recursive: true });
  for (const name of await readdir(cacheFolder)) {
    const path = join(cacheFolder, name);
    const usedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (usedAt < Date.now() - DAY_MS) await rm(path, { recursive: true, force: true });
  }
}
