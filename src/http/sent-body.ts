import type { SentBody } from '../kernel/files.ts';

/** Makes the body of a request for handlers that read it themselves. */
export function toSentBody({ headers, body }: Request): SentBody {
  const length = headers.get('content-length');
  return { stream: body, type: headers.get('content-type'), length: length === null ? null : Number(length) };
}
