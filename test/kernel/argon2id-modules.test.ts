import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import argon2id from 'argon2id/lib/argon2id.js';
import setupWasm from 'argon2id/lib/setup.js';
import { describe, expect, it } from 'vitest';

const PACKAGE = dirname(createRequire(import.meta.url).resolve('argon2id'));
const OWN = join(import.meta.dirname, '../../src/platform/argon2id');
/** `env.memory`, imported with limits: at least 1040 pages, or 305, and at most 65,536. */
const IMPORT = Buffer.from('03656e76066d656d6f72790201', 'hex');
const limits = (least: string) => Buffer.concat([IMPORT, Buffer.from(`${least}808004`, 'hex')]);
const password = new TextEncoder().encode('correct-horse-battery');
const salt = new Uint8Array(16).fill(7);

/** In Node, unlike in a Worker, bytes can be compiled; the types are a Worker's. */
const instantiate = (bytes: Uint8Array, imports: WebAssembly.Imports) =>
  WebAssembly.instantiate(bytes as never, imports) as unknown as Promise<{
    module: WebAssembly.Module;
    instance: WebAssembly.Instance;
  }>;

const ofPackage = async () => {
  const load = (name: string) => async (imports: WebAssembly.Imports) =>
    instantiate(await readFile(join(PACKAGE, `dist/${name}.wasm`)), imports);
  return setupWasm(load('simd'), load('no-simd'));
};

describe.each(['simd', 'no-simd'])('the Argon2id module %s', (name) => {
  it("equals the package's module but for the minimum memory that it imports", async () => {
    const theirs = await readFile(join(PACKAGE, `dist/${name}.wasm`));
    const own = await readFile(join(OWN, `${name}.wasm`));
    expect(theirs.includes(limits('9008'))).toBe(true);
    const at = own.indexOf(limits('b102'));
    limits('9008').copy(own, at);
    expect(own.equals(theirs)).toBe(true);
  });

  it.each([19_456, 40_000])('computes the same hash as the package with %i KiB of memory', async (memorySize) => {
    const params = { password, salt, parallelism: 1, passes: 2, tagLength: 32, memorySize };
    const memory = new WebAssembly.Memory({ initial: 305, maximum: 65_536 });
    const bytes = await readFile(join(OWN, `${name}.wasm`));
    const { instance } = await instantiate(bytes, { env: { memory } });
    const hash = argon2id(params, { instance, memory });
    expect(hash).toEqual((await ofPackage())(params));
    if (memorySize === 19_456) expect(memory.buffer.byteLength).toBe(305 * 65_536);
    else expect(memory.buffer.byteLength).toBeGreaterThan(memorySize * 1024);
  });
});
