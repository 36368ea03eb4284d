import type { SentBody } from '../kernel/files.ts';

/** Makes the body of a request for handlers that read it themselves. */
export function toSentBody({ headers, body }: Request): SentBody {
  const length = headers.get('content-length');
  return { stream: body, mediaType: headers.get('content-type'), byteCount: length === null ? null : Number(length) };
}
