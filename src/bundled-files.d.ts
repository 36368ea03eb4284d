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
