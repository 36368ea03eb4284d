/**
 * Writes `vectors.json`. Everything in it follows from the constants here, so that two runs write the same file:
 *
 *     npx node examples/signing/make-vectors.ts
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeInvalidVectors } from './vectors/invalid.ts';
import { makeValidVectors } from './vectors/valid.ts';
import { KEY, NOW, type Vectors } from './vectors/vector.ts';

/** Makes the content of `vectors.json`. */
export async function makeVectors(): Promise<Vectors> {
  return {
    about: 'Test vectors of request signing. README.md tells how to read them.',
    key: KEY,
    now: NOW,
    valid: await makeValidVectors(),
    invalid: await makeInvalidVectors(),
  };
}

/** Returns the text of `vectors.json`. */
export const render = (vectors: Vectors): string => `${JSON.stringify(vectors, null, 2)}\n`;

if (import.meta.main) await writeFile(join(import.meta.dirname, 'vectors.json'), render(await makeVectors()));
