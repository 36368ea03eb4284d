import { expect } from 'vitest';
import { call, type Sending } from '../support/api.ts';
import type { Company } from '../support/worlds.ts';

/** Makes an embed token. */
export async function anEmbed(
  { as }: Company,
  type: 'dashboards' | 'visualizations',
  id: string,
  json: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await as.post(`/api/v1/embed/${type}/${id}`, { json });
  expect([status, body]).toEqual([201, expect.objectContaining({ token: expect.any(String) })]);
  return body.token;
}

/** What the holder of an embed token may ask. */
export function embedOf(kind: 'd' | 'v', token: string, headers: Record<string, string> = {}) {
  const path = `/api/embed/${kind}/${token}`;
  const sending = (more: Sending = {}): Sending => ({ ...more, headers: { ...headers, ...more.headers } });
  return {
    info: (more?: Sending) => call('GET', `${path}/info`, sending(more)),
    options: (slug: string, search = '') => call('GET', `${path}/filters/${slug}/options?search=${search}`, sending()),
    execute: (parameters: unknown = {}, more?: Sending) =>
      call('POST', `${path}/execute`, { json: { parameters }, ...sending(more) }),
  };
}
