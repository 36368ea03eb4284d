import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { doesSucceed } from '../operations/problem.ts';

const A_DAY_MS = 24 * 60 * 60 * 1000;

/** The folder of what `bundle` writes for the sources under a configuration, kept until they change, and a day more. */
export async function findOrMakeBundle(
  projectDir: string,
  config: string,
  bundle: (folder: string) => Promise<unknown>,
): Promise<string> {
  const place = join(projectDir, 'node_modules', '.cache', 'workers');
  const kept = join(place, await computeDigest(projectDir, config));
  const now = new Date();
  // Somebody who begins at the same time may remove what nobody has used for a day.
  if (await doesSucceed(utimes(kept, now, now))) return kept;
  await removeOldBundles(place);
  const fresh = `${kept}.${process.pid}`;
  await rm(fresh, { recursive: true, force: true });
  await bundle(fresh);
  // Another process may have made the same meanwhile.
  await rename(fresh, kept).catch(() => rm(fresh, { recursive: true }));
  return kept;
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

async function removeOldBundles(place: string): Promise<void> {
  await mkdir(place, { recursive: true });
  for (const name of await readdir(place)) {
    const path = join(place, name);
    const usedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (usedAt < Date.now() - A_DAY_MS) await rm(path, { recursive: true, force: true });
  }
}
