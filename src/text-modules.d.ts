/** The bundler hands over text files as strings. */
declare module '*.txt' {
  const text: string;
  export default text;
}
