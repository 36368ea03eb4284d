import { findExtension, isAccepted } from './kinds.ts';
import { safeFileName } from './receive.ts';

/** The headers of an answer that are read here. */
interface ResponseHeaders {
  get(name: string): string | null;
}

/** The file name in the path of an address; empty for none. */
export function nameInPath(address: string): string {
  const last = new URL(address).pathname.split('/').at(-1) ?? '';
  return safeFileName(decoded(last));
}

/**
 * The name of a file from the answer that holds it: the name in `Content-Disposition`, else the name in the path, with the
 * ending of `Content-Type`. Null where neither has a known kind of file.
 */
export function nameFromResponse(headers: ResponseHeaders, inPath: string): string | null {
  const disposed = dispositionName(headers.get('content-disposition') ?? '');
  if (disposed !== null && isAccepted(disposed)) return disposed;
  const ending = findExtension(mediaType(headers));
  if (ending === undefined) return null;
  const stem = (disposed || inPath).replace(/\.[^.]*$/, '');
  return safeFileName(`${stem || 'arquivo'}${ending}`);
}

/** The media type of an answer, without its parameters. */
export const mediaType = (headers: ResponseHeaders): string =>
  (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase();

/** The name in `Content-Disposition`; by RFC 6266 the one in Unicode goes first. */
function dispositionName(disposition: string): string | null {
  const text = disposition.slice(0, 2048);
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(text)?.[1];
  if (extended !== undefined) return safeFileName(decoded(extended));
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(text)?.[1];
  if (quoted !== undefined) return safeFileName(quoted.replace(/\\(.)/g, '$1'));
  const plain = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(text)?.[1];
  return plain === undefined ? null : safeFileName(plain);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
