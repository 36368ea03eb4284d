/** Encodes bytes as base64 for URLs, without padding. */
export const encodeBase64Url = (bytes: Uint8Array): string =>
  bytes.toBase64({ alphabet: 'base64url', omitPadding: true });

export const createDataView = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joinedBytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joinedBytes.set(part, at);
    at += part.length;
  }
  return joinedBytes;
}
