/** The versions of the protocol that are spoken, the newest first. Older ones know neither structured results nor this transport. */
export const PROTOCOL_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18'];

/** A refusal in the terms of JSON-RPC, of what is no message that could be answered. */
export const refusedMessage = (code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status: 400 });

export const INVALID_REQUEST = -32600;
