import { expect } from 'vitest';
import type { SigningKey } from '../../examples/embed/sign.ts';
import { callApi, type RequestOptions } from '../support/api.ts';
import type { Company } from '../support/companies.ts';

/** Signs a token like a host: valid for an hour, unless the claims set another end. */
export { type SigningKey, signEmbedToken as hostToken } from '../../examples/embed/sign.ts';

export const REVOCATION_PATH = '/api/v1/embed/revoke';

/** Creates an embed token, and returns its record. */
export async function createEmbedRecord(
  { as }: Pick<Company, 'as'>,
  type: 'dashboards' | 'visualizations',
  id: string,
  json: Record<string, unknown> = {},
): Promise<{ id: string; token: string }> {
  const { status, body } = await as.post(`/api/v1/embed/${type}/${id}`, { json });
  expect([status, body]).toEqual([201, expect.objectContaining({ token: expect.any(String) })]);
  return body;
}

/** Creates an embed token, and returns the token alone. */
export const createEmbedToken = async (...embedInput: Parameters<typeof createEmbedRecord>): Promise<string> =>
  (await createEmbedRecord(...embedInput)).token;

/** Returns the status of the `info` route for an embed token. */
export const readStatus = async (kind: 'd' | 'v', token: string): Promise<number> =>
  (await createEmbedClient(kind, token).info()).status;

/** Makes the requests that the holder of an embed token can send. */
export function createEmbedClient(kind: 'd' | 'v', token: string, headers: Record<string, string> = {}) {
  const path = `/api/embed/${kind}/${token}`;
  const addHeaders = (extraOptions: RequestOptions = {}): RequestOptions => ({
    ...extraOptions,
    headers: { ...headers, ...extraOptions.headers },
  });
  return {
    info: (extraOptions?: RequestOptions) => callApi('GET', `${path}/info`, addHeaders(extraOptions)),
    options: (slug: string, search = '') =>
      callApi('GET', `${path}/filters/${slug}/options?search=${search}`, addHeaders()),
    execute: (parameters: unknown = {}, extraOptions?: RequestOptions) =>
      callApi('POST', `${path}/execute`, { json: { parameters }, ...addHeaders(extraOptions) }),
  };
}

export const SIGNING_KEYS_PATH = '/api/v1/embed/signing-keys';

export const createSigningKey = async ({ as }: Pick<Company, 'as'>): Promise<SigningKey> => {
  const { status, body } = await as.post(SIGNING_KEYS_PATH);
  expect(status).toBe(201);
  return body;
};
