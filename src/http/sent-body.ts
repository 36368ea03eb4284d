import type { SentBody } from '../kernel/files.ts';

/** The body of a request, for those who read it by themselves. */
export function toSentBody({ headers, body }: Request): SentBody {
  const length = headers.get('content-length');
  return { stream: body, type: headers.get('content-type'), length: length === null ? null : Number(length) };
}
