/** The bundler hands over text files as strings. */
declare module '*.txt' {
  const text: string;
  export default text;
}

/** WebAssembly is compiled when the Worker is deployed; what is imported is the compiled module. */
declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}

/** The hash itself, which the package's own types leave out. */
declare module 'argon2id/lib/argon2id.js' {
  type Params = Parameters<import('argon2id/lib/setup.js').computeHash>[0];
  /** Computes a hash in a memory, which grows where it is too small. */
  export default function argon2id(
    params: Params,
    wasm: { instance: WebAssembly.Instance; memory: WebAssembly.Memory },
  ): Uint8Array;
}
