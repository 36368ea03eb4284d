import { findExtension, isAccepted } from './kinds.ts';
import { toSafeFileName } from './receive.ts';

/** The headers of an answer that are read here. */
interface ResponseHeaders {
  get(name: string): string | null;
}

/** The file name in the path of an address; empty for none. */
export function readNameInPath(address: string): string {
  const last = new URL(address).pathname.split('/').at(-1) ?? '';
  return toSafeFileName(decodePercent(last));
}

/**
 * The name of a file from the answer that holds it: the name in `Content-Disposition`, else the name in the path, with the
 * ending of `Content-Type`. Null where neither has a known kind of file.
 */
export function readNameFromResponse(headers: ResponseHeaders, inPath: string): string | null {
  const disposed = readDispositionName(headers.get('content-disposition') ?? '');
  if (disposed !== null && isAccepted(disposed)) return disposed;
  const ending = findExtension(readMediaType(headers));
  if (ending === undefined) return null;
  const stem = (disposed || inPath).replace(/\.[^.]*$/, '');
  return toSafeFileName(`${stem || 'arquivo'}${ending}`);
}

/** The media type of an answer, without its parameters. */
export const readMediaType = (headers: ResponseHeaders): string =>
  (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase();

/** The name in `Content-Disposition`; by RFC 6266 the one in Unicode goes first. */
function readDispositionName(disposition: string): string | null {
  const text = disposition.slice(0, 2048);
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(text)?.[1];
  if (extended !== undefined) return toSafeFileName(decodePercent(extended));
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(text)?.[1];
  if (quoted !== undefined) return toSafeFileName(quoted.replace(/\\(.)/g, '$1'));
  const plain = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(text)?.[1];
  return plain === undefined ? null : toSafeFileName(plain);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
