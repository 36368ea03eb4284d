/** Whether a request asks for an uncached result (`Cache-Control: no-cache`), as browsers do when a page is reloaded. */
export const asksFresh = ({ headers }: Request): boolean => /\bno-cache\b/i.test(headers.get('Cache-Control') ?? '');
