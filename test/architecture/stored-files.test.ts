import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** A call of `delete` on what a variable or member of such a name holds: a bucket of R2. */
const DELETES = /\b(?:files|bucket|FILES|r2)\??\.delete\(/gi;

const HELPER = 'src/platform/stored-files.ts';

const deletions = ['src', 'operations', 'local'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(DELETES)].map(([call]) => `${folder}/${file}: ${call}`),
    ),
);

describe('objects of R2', () => {
  it('are deleted only in src/platform/stored-files.ts, which keeps to the limits of R2', () => {
    expect(deletions).toEqual([`${HELPER}: bucket.delete(`]);
  });

  it('are in buckets whose variables are named files, bucket or FILES', () => {
    const named = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
      .flatMap((file) => [...readFileSync(`src/${file}`, 'utf8').matchAll(/([#\w]+)\??:\s*R2Bucket\b/g)])
      .map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !/^#?(?:files|bucket|FILES)$/.test(name))).toEqual([]);
  });
});
