import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import argon2id from 'argon2id/lib/argon2id.js';
import setupWasm from 'argon2id/lib/setup.js';
import { describe, expect, it } from 'vitest';

const PACKAGE_FOLDER = dirname(createRequire(import.meta.url).resolve('argon2id'));
const OWN_FOLDER = join(import.meta.dirname, '../../src/platform/argon2id');
/** The bytes that import `env.memory`; its limits follow: at least 1040 pages (or 305), and at most 65,536. */
const MEMORY_IMPORT = Buffer.from('03656e76066d656d6f72790201', 'hex');
const makeMemoryImport = (minPages: string) => Buffer.concat([MEMORY_IMPORT, Buffer.from(`${minPages}808004`, 'hex')]);
const password = new TextEncoder().encode('correct-horse-battery');
const salt = new Uint8Array(16).fill(7);

/** Compiles and instantiates bytes, which Node allows, unlike a Worker; the types are those of a Worker. */
const instantiate = (bytes: Uint8Array, imports: WebAssembly.Imports) =>
  WebAssembly.instantiate(bytes as never, imports) as unknown as Promise<{
    module: WebAssembly.Module;
    instance: WebAssembly.Instance;
  }>;

const loadPackage = async () => {
  const makeLoader = (name: string) => async (imports: WebAssembly.Imports) =>
    instantiate(await readFile(join(PACKAGE_FOLDER, `dist/${name}.wasm`)), imports);
  return setupWasm(makeLoader('simd'), makeLoader('no-simd'));
};

describe.each(['simd', 'no-simd'])('the Argon2id module %s', (name) => {
  it("equals the package's module except for the minimum memory that it imports", async () => {
    const packageModule = await readFile(join(PACKAGE_FOLDER, `dist/${name}.wasm`));
    const ownModule = await readFile(join(OWN_FOLDER, `${name}.wasm`));
    expect(packageModule.includes(makeMemoryImport('9008'))).toBe(true);
    const at = ownModule.indexOf(makeMemoryImport('b102'));
    makeMemoryImport('9008').copy(ownModule, at);
    expect(ownModule.equals(packageModule)).toBe(true);
  });

  it.each([19_456, 40_000])('computes the same hash as the package with %i KiB of memory', async (memorySize) => {
    const params = { password, salt, parallelism: 1, passes: 2, tagLength: 32, memorySize };
    const memory = new WebAssembly.Memory({ initial: 305, maximum: 65_536 });
    const bytes = await readFile(join(OWN_FOLDER, `${name}.wasm`));
    const { instance } = await instantiate(bytes, { env: { memory } });
    const hash = argon2id(params, { instance, memory });
    expect(hash).toEqual((await loadPackage())(params));
    if (memorySize === 19_456) expect(memory.buffer.byteLength).toBe(305 * 65_536);
    else expect(memory.buffer.byteLength).toBeGreaterThan(memorySize * 1024);
  });
});
