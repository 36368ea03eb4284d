/** Error thrown when the body is cut off or is not multipart/form-data. `message` states the problem. */
export class MultipartMalformed extends Error {}

/** The parsed headers of a part. The sender chooses the names: treat them as hostile. */
export interface PartHeaders {
  /** Name of the form field. */
  name: string;
  /** Name of the file; null for a part that is not a file. */
  filename: string | null;
  /** Media type that the sender claims, in lower case, without parameters. */
  mediaType: string;
}

/** Maximum length of a boundary: RFC 2046 allows 70 characters. */
const MAX_BOUNDARY_LENGTH = 70;

/** Reads the boundary from a `Content-Type`; null unless it is `multipart/form-data` with a usable boundary. */
export function parseBoundary(contentType: string | null): string | null {
  if (!contentType || !/^multipart\/form-data\s*;/i.test(contentType)) return null;
  const boundary = parseParameters(contentType).get('boundary');
  return boundary && boundary.length <= MAX_BOUNDARY_LENGTH ? boundary : null;
}

/** Reads the headers of a part. @throws MultipartMalformed for a part without a field name */
export function readPartHeaders(block: Buffer): PartHeaders {
  let disposition = '';
  let mediaType = '';
  for (const line of decodeHeader(block).split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (name === 'content-disposition') disposition = line.slice(colon + 1).trim();
    if (name === 'content-type') mediaType = line.slice(colon + 1).trim();
  }
  const dispositionParameters = parseParameters(disposition);
  const name = dispositionParameters.get('name');
  if (!/^form-data\s*;/i.test(disposition) || name === undefined)
    throw new MultipartMalformed('A part does not say which field it is.');
  return {
    name,
    filename: dispositionParameters.get('filename') ?? decodeExtended(dispositionParameters.get('filename*')),
    mediaType: mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? '',
  };
}

/** Decodes a header: current senders write UTF-8, old ones Latin-1. */
function decodeHeader(bytes: Buffer): string {
  const utf8 = bytes.toString('utf8');
  return utf8.includes('\ufffd') ? bytes.toString('latin1') : utf8;
}

/**
 * Parses the parameters of a header value, names lower-cased. In quoted values `\"` and `\\` are escapes and other
 * backslashes are literal (Windows paths). Browsers escape with `%22`, `%0D` and `%0A`, so only these are decoded.
 */
function parseParameters(header: string): Map<string, string> {
  const foundParameters = new Map<string, string>();
  for (const [, name = '', quoted, plain] of header.matchAll(
    /;\s*([^\s=;"]+)\s*=\s*(?:"((?:\\[\s\S]|[^"\\])*)"|([^\s;"]*))/g,
  )) {
    const value = quoted?.replace(/\\(["\\])/g, '$1') ?? plain ?? '';
    const decodedValue = value.replace(/%(22|0D|0A)/gi, (escapeSequence) => decodeURIComponent(escapeSequence));
    if (!foundParameters.has(name.toLowerCase())) foundParameters.set(name.toLowerCase(), decodedValue);
  }
  return foundParameters;
}

/** Decodes the value of a `filename*=UTF-8''…` parameter (RFC 5987), which some senders use for names that are not ASCII. */
function decodeExtended(value: string | undefined): string | null {
  const match = /^utf-8'[^']*'(.*)$/i.exec(value ?? '');
  if (!match) return null;
  try {
    return decodeURIComponent(match[1] ?? '');
  } catch {
    return null;
  }
}
