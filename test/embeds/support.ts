import { expect } from 'vitest';
import type { SigningKey } from '../../examples/embed/sign.ts';
import { call, type RequestOptions } from '../support/api.ts';
import type { Company } from '../support/worlds.ts';

/** A token as a host signs it: good for an hour, unless the claims say otherwise. */
export { type SigningKey, signEmbedToken as hostToken } from '../../examples/embed/sign.ts';

export const REVOCATION_PATH = '/api/v1/embed/revoke';

/** Makes an embed token. */
export async function makeEmbed(
  { as }: Pick<Company, 'as'>,
  type: 'dashboards' | 'visualizations',
  id: string,
  json: Record<string, unknown> = {},
): Promise<{ id: string; token: string }> {
  const { status, body } = await as.post(`/api/v1/embed/${type}/${id}`, { json });
  expect([status, body]).toEqual([201, expect.objectContaining({ token: expect.any(String) })]);
  return body;
}

/** Makes an embed token, and answers the token alone. */
export const createEmbed = async (...made: Parameters<typeof makeEmbed>): Promise<string> =>
  (await makeEmbed(...made)).token;

/** The status that `info` answers for an embed token. */
export const readStatus = async (kind: 'd' | 'v', token: string): Promise<number> =>
  (await makeEmbedRoutes(kind, token).info()).status;

/** What the holder of an embed token may ask. */
export function makeEmbedRoutes(kind: 'd' | 'v', token: string, headers: Record<string, string> = {}) {
  const path = `/api/embed/${kind}/${token}`;
  const sending = (more: RequestOptions = {}): RequestOptions => ({
    ...more,
    headers: { ...headers, ...more.headers },
  });
  return {
    info: (more?: RequestOptions) => call('GET', `${path}/info`, sending(more)),
    options: (slug: string, search = '') => call('GET', `${path}/filters/${slug}/options?search=${search}`, sending()),
    execute: (parameters: unknown = {}, more?: RequestOptions) =>
      call('POST', `${path}/execute`, { json: { parameters }, ...sending(more) }),
  };
}

export const SIGNING_KEYS_PATH = '/api/v1/embed/signing-keys';

export const createSigningKey = async ({ as }: Pick<Company, 'as'>): Promise<SigningKey> => {
  const { status, body } = await as.post(SIGNING_KEYS_PATH);
  expect(status).toBe(201);
  return body;
};
