/** Versions that begin with a handshake, the newest first. Older ones know neither structured results nor this transport. */
export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18'];

/** The versions of the protocol that are spoken, the newest first. In the newest each message stands for itself. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2026-07-28', ...LEGACY_VERSIONS];

/** A refusal in the terms of JSON-RPC, of a text that is no message which could be answered. */
export const makeRefusal = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status: 400 });

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
