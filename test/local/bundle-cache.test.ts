import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOrMakeBundle } from '../../local/bundle-cache.ts';

let project: string;
let buildCount: number;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'data-console-bundles-'));
  buildCount = 0;
  await mkdir(join(project, 'src', 'deep'), { recursive: true });
  for (const name of ['src/index.ts', 'src/deep/one.ts', 'package-lock.json', 'tsconfig.json']) {
    await writeFile(join(project, name), name);
  }
});
afterEach(() => rm(project, { recursive: true }));

/** Finds or builds the bundle. @returns the number of builds so far, and the content of the bundle */
async function countBundles(config = '{}'): Promise<[number, string]> {
  const folder = await findOrMakeBundle(project, config, async (newFolder) => {
    buildCount += 1;
    await mkdir(newFolder);
    await writeFile(join(newFolder, 'index.js'), `bundle ${buildCount}`);
  });
  return [buildCount, await readFile(join(folder, 'index.js'), 'utf8')];
}

describe('the cached bundle of a Worker', () => {
  it('is used again while its sources are the same', async () => {
    expect(await countBundles()).toEqual([1, 'bundle 1']);
    expect(await countBundles()).toEqual([1, 'bundle 1']);
  });

  it.each(['src/index.ts', 'src/deep/one.ts', 'package-lock.json', 'tsconfig.json'])(
    'is built again when %s changes',
    async (name) => {
      await countBundles();
      await writeFile(join(project, name), 'changed');
      expect(await countBundles()).toEqual([2, 'bundle 2']);
    },
  );

  it('is built again when a source is added or renamed, and for another configuration', async () => {
    await countBundles();
    await writeFile(join(project, 'src', 'two.ts'), '');
    expect(await countBundles()).toEqual([2, 'bundle 2']);
    await rm(join(project, 'src', 'two.ts'));
    await writeFile(join(project, 'src', 'three.ts'), '');
    expect(await countBundles()).toEqual([3, 'bundle 3']);
    await rm(join(project, 'src', 'three.ts'));
    expect(await countBundles()).toEqual([3, 'bundle 1']);
    expect(await countBundles('{"name":"other"}')).toEqual([4, 'bundle 4']);
  });

  it('is not cached when its build fails', async () => {
    const failingBuild = findOrMakeBundle(project, '{}', async (newFolder) => {
      await mkdir(newFolder);
      throw new Error('The Worker cannot be bundled.');
    });
    await expect(failingBuild).rejects.toThrow('cannot be bundled');
    expect(await countBundles()).toEqual([1, 'bundle 1']);
  });

  it('is the one that is built first when two are built at the same time', async () => {
    const slowBuild = findOrMakeBundle(project, '{}', async (newFolder) => {
      await mkdir(newFolder);
      await writeFile(join(newFolder, 'index.js'), 'slow');
      // Another process makes the same, and ends before this one.
      const [name = ''] = await readdir(join(newFolder, '..'));
      const firstFolder = join(newFolder, '..', name.replace(/\..*/, ''));
      await mkdir(firstFolder);
      await writeFile(join(firstFolder, 'index.js'), 'fast');
    });
    expect(await readFile(join(await slowBuild, 'index.js'), 'utf8')).toBe('fast');
    expect(await readdir(join(await slowBuild, '..'))).toHaveLength(1);
  });

  it('is removed when it was not used for a day', async () => {
    await countBundles();
    await countBundles('{"name":"used"}');
    const cacheFolder = join(project, 'node_modules', '.cache', 'workers');
    const [first = '', second = ''] = await readdir(cacheFolder);
    const twoDaysAgo = new Date(Date.now() - 48 * 60 * 60 * 1000);
    for (const name of [first, second]) await utimes(join(cacheFolder, name), twoDaysAgo, twoDaysAgo);
    await countBundles('{"name":"used"}');
    await countBundles('{"name":"new"}');
    expect(await readdir(cacheFolder)).toHaveLength(2);
    expect(await countBundles('{"name":"used"}')).toEqual([3, 'bundle 2']);
  });
});
