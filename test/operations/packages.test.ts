import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { PROJECT } from '../../operations/environments.ts';

const parsePackageName = (path: string) => path.split('/', path.startsWith('@') ? 2 : 1).join('/');

it('every npm package that the Worker or the operators’ commands import is a production dependency', async () => {
  const commands = readdirSync(join(PROJECT, 'operations')).filter((name) => name.endsWith('.ts'));
  const { metafile } = await build({
    absWorkingDir: PROJECT,
    entryPoints: [
      ...commands.map((name) => `operations/${name}`),
      'src/index.ts',
      'src/api.ts',
      'src/background.ts',
      'src/web/build.ts',
    ],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outdir: 'nowhere',
    write: false,
    metafile: true,
    packages: 'external',
    external: ['*.wasm', '*.css', '*.html'],
    logLevel: 'silent',
  });
  const importedPackages = Object.values(metafile.inputs)
    .flatMap(({ imports }) => imports)
    .filter(({ external, path }) => external && !/^\.|:/.test(path) && !builtinModules.includes(path))
    .map(({ path }) => parsePackageName(path));
  const { dependencies } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'));
  expect(importedPackages).toEqual(expect.arrayContaining(['hono', 'wrangler', 'esbuild']));
  expect(importedPackages.filter((name) => !(name in dependencies))).toEqual([]);
});
