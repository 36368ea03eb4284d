declare module '*?raw' {
  /** The file's text. */
  const text: string;
  export default text;
}
