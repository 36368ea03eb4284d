/** Versions that begin with a handshake, newest first. Older ones lack structured results and this transport. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18'];

/** All supported versions, newest first. In the newest, each message is independent of earlier ones. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2026-07-28', ...LEGACY_VERSIONS];

/** Makes a 400 response with a JSON-RPC error that refers to no message. */
export const makeRefusal = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status: 400 });

export const PARSE_ERROR_CODE = -32700;
export const INVALID_REQUEST_CODE = -32600;
