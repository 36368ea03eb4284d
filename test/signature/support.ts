import { env } from 'cloudflare:test';
import { type Key, sign } from '../../examples/signing/sign.ts';
import { type ApiResponse, BASE_URL, callApi, type RequestOptions } from '../support/api.ts';

/** A request exactly as it is sent over the wire: nothing is added to it. */
export interface WireRequest {
  method: string;
  /** The path with its query. */
  path: string;
  headers: Headers;
  body: string;
}

/** Signs a request that can then be sent or tampered with. */
export async function signRequest(
  key: Key,
  { method = 'GET', path = '/admin/audit-events', body = '', date = new Date().toISOString() } = {},
): Promise<WireRequest> {
  const headers = new Headers({ ...(await sign(key, method, BASE_URL + path, body, { date })) });
  if (body !== '') headers.set('content-type', 'application/json');
  return { method, path, headers, body };
}

/** Sends a signed request to the Worker, unchanged. */
export const sendWireRequest = (
  { method, path, headers, body }: WireRequest,
  variables?: RequestOptions['env'],
): Promise<ApiResponse> =>
  callApi(method, path, { headers: Object.fromEntries(headers), ...(body !== '' && { body }), env: variables });

/** Signs and sends a request. */
export const sendSigned = async (
  key: Key,
  draft: Parameters<typeof signRequest>[1] = {},
  variables?: RequestOptions['env'],
): Promise<ApiResponse> => sendWireRequest(await signRequest(key, draft), variables);

/** Changes rows of the control database without the API. */
export const alterRows = (statement: string, ...values: unknown[]): Promise<D1Result> =>
  env.CONTROL_DB.prepare(statement)
    .bind(...values)
    .run();
