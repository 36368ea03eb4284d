import { expect, it } from 'vitest';
import { readText } from '../../src/platform/bounded.ts';
import { findCached, putCached } from '../../src/platform/edge-cache.ts';
import { BASE_URL } from '../support/api.ts';

const makeAddress = (name: string) => `${BASE_URL}/.edge-cache/${name}`;

it('a text is cached together with its metadata', async () => {
  await putCached('tests', makeAddress('text'), 'tëxt', { seconds: 60, metadata: '{"de":"São"}' });
  const cachedText = await findCached('tests', makeAddress('text'));
  expect([await readText(cachedText?.body ?? null), cachedText?.metadata]).toEqual(['tëxt', '{"de":"São"}']);
});

it('a text that another release cached in another form is ignored', async () => {
  const headers = { 'Cache-Control': 'max-age=60', 'X-Read-Of': '{}' };
  await (await caches.open('tests')).put(makeAddress('other'), new Response('text', { headers }));
  expect(await findCached('tests', makeAddress('other'))).toBeUndefined();
});
