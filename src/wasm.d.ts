/** WebAssembly is compiled when the Worker is deployed; what is imported is the compiled module. */
declare module '*.wasm' {
  const module: WebAssembly.Module;
  export default module;
}
