import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** Matches a call of `delete` on a variable or member whose name says that it holds an R2 bucket. */
const DELETE_CALL_PATTERN = /\b(?:files|bucket|FILES|r2)\??\.delete\(/gi;

const HELPER_FILE = 'src/platform/stored-files.ts';

const deletingFiles = ['src', 'operations', 'local'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      [...readFileSync(`${folder}/${file}`, 'utf8').matchAll(DELETE_CALL_PATTERN)].map(
        ([call]) => `${folder}/${file}: ${call}`,
      ),
    ),
);

describe('objects of R2', () => {
  it('are deleted only in src/platform/stored-files.ts, which respects the limits of R2', () => {
    expect(deletingFiles).toEqual([`${HELPER_FILE}: bucket.delete(`]);
  });

  it('are accessed through bucket variables named files, bucket or FILES', () => {
    const bucketNames = readdirSync('src', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
      .flatMap((file) => [...readFileSync(`src/${file}`, 'utf8').matchAll(/([#\w]+)\??:\s*R2Bucket\b/g)])
      .map(([, name = '']) => name);
    expect(bucketNames.length).toBeGreaterThan(10);
    expect(bucketNames.filter((name) => !/^#?(?:files|bucket|FILES)$/.test(name))).toEqual([]);
  });
});
