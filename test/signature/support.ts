import { env } from 'cloudflare:test';
import { type Key, sign } from '../../examples/signing/sign.ts';
import { type ApiResponse, BASE_URL, call, type RequestOptions } from '../support/api.ts';

/** A request as it goes over the wire: nothing is added to it. */
export interface WireRequest {
  method: string;
  /** Path and query. */
  path: string;
  headers: Headers;
  body: string;
}

/** A signed request, ready to be sent or tampered with. */
export async function signRequest(
  key: Key,
  { method = 'GET', path = '/admin/audit-events', body = '', date = new Date().toISOString() } = {},
): Promise<WireRequest> {
  const headers = new Headers({ ...(await sign(key, method, BASE_URL + path, body, { date })) });
  if (body !== '') headers.set('content-type', 'application/json');
  return { method, path, headers, body };
}

/** Sends a signed request to the Worker. */
export const sendWire = (
  { method, path, headers, body }: WireRequest,
  variables?: RequestOptions['env'],
): Promise<ApiResponse> =>
  call(method, path, { headers: Object.fromEntries(headers), ...(body !== '' && { body }), env: variables });

/** Signs and sends. */
export const sendSigned = async (
  key: Key,
  draft: Parameters<typeof signRequest>[1] = {},
  variables?: RequestOptions['env'],
): Promise<ApiResponse> => sendWire(await signRequest(key, draft), variables);

/** Changes rows of the control database behind the API's back. */
export const alterRows = (statement: string, ...values: unknown[]): Promise<D1Result> =>
  env.CONTROL_DB.prepare(statement)
    .bind(...values)
    .run();
