/** Returns true if a request demands an uncached result (`Cache-Control: no-cache`), as browsers do on a reload. */
export const wantsFreshResult = ({ headers }: Request): boolean =>
  /\bno-cache\b/i.test(headers.get('Cache-Control') ?? '');
