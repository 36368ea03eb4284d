import { clock } from '../../src/kernel/clock.ts';
import { outboundFetch } from '../../src/platform/outbound.ts';
import { fetchOutside } from '../../src/platform/outside-fetch.ts';
import { openOutside } from '../../src/platform/outside-file.ts';
import { postWebhook } from '../../src/platform/webhooks.ts';

const start = Date.now();

const ways: Record<string, (address: string) => Promise<unknown>> = {
  webhook: (address) => postWebhook(address, {}, '{}', { allowPrivate: false, now: clock.now() }),
  file: async (address) => (await openOutside(address, {}, { allowPrivate: false, silenceMs: 10_000 })).status,
  provider: async (address) => (await outboundFetch(false)(address)).status,
  development: async (address) => (await fetchOutside(address, {}, true)).status,
};

/** Fetches `url` in one of our ways, `at` milliseconds after the start, and says what came of it. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { way, url, at } = await request.json<{ way: string; url: string; at: number }>();
    clock.now = () => start + at;
    try {
      return Response.json(await ways[way]?.(url));
    } catch (error) {
      return Response.json(String((error as Error).message));
    }
  },
};
