/** Whether a request asks for an answer that is not kept from before, as browsers do when a page is loaded anew. */
export const asksFresh = ({ headers }: Request): boolean => /\bno-cache\b/i.test(headers.get('Cache-Control') ?? '');
