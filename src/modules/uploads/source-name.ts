import { findExtension, hasAcceptedExtension } from './kinds.ts';
import { toSafeFileName } from './receive.ts';

/** The headers of a response that are read here. */
interface ResponseHeaders {
  get(name: string): string | null;
}

/** Reads the file name from the path of a URL; empty if there is none. */
export function readNameInPath(url: string): string {
  const lastSegment = new URL(url).pathname.split('/').at(-1) ?? '';
  return toSafeFileName(decodePercent(lastSegment));
}

/**
 * Reads the name of a file from the response that holds it: the name in `Content-Disposition`, else the name in the path, with
 * the extension for `Content-Type`. Null where neither has a known kind of file.
 */
export function readNameFromResponse(headers: ResponseHeaders, nameInPath: string): string | null {
  const dispositionName = readDispositionName(headers.get('content-disposition') ?? '');
  if (dispositionName !== null && hasAcceptedExtension(dispositionName)) return dispositionName;
  const extension = findExtension(readMediaType(headers));
  if (extension === undefined) return null;
  const stem = (dispositionName || nameInPath).replace(/\.[^.]*$/, '');
  return toSafeFileName(`${stem || 'arquivo'}${extension}`);
}

/** Reads the media type of a response, without its parameters. */
export const readMediaType = (headers: ResponseHeaders): string =>
  (headers.get('content-type') ?? '').split(';', 1).join('').trim().toLowerCase();

/** Reads the name in `Content-Disposition`; by RFC 6266 the Unicode name goes first. */
function readDispositionName(disposition: string): string | null {
  const text = disposition.slice(0, 2048);
  const extendedName = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(text)?.[1];
  if (extendedName !== undefined) return toSafeFileName(decodePercent(extendedName));
  const quotedName = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(text)?.[1];
  if (quotedName !== undefined) return toSafeFileName(quotedName.replace(/\\(.)/g, '$1'));
  const plainName = /;\s*filename\s*=\s*([^;\s"]+)/i.exec(text)?.[1];
  return plainName === undefined ? null : toSafeFileName(plainName);
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
