import { clock } from '../../src/kernel/clock.ts';
import { createOutboundFetch } from '../../src/platform/outbound.ts';
import { fetchOutside } from '../../src/platform/outside-fetch.ts';
import { openOutsideFile } from '../../src/platform/outside-file.ts';
import { postWebhook } from '../../src/platform/webhooks.ts';

const start = Date.now();

const FETCH_METHODS: Record<string, (address: string) => Promise<unknown>> = {
  webhook: (address) => postWebhook(address, {}, '{}', { allowPrivateHosts: false, now: clock.now() }),
  file: async (address) => (await openOutsideFile(address, {}, { allowPrivateHosts: false, silenceMs: 10_000 })).status,
  provider: async (address) => (await createOutboundFetch(false)(address)).status,
  development: async (address) => (await fetchOutside(address, {}, true)).status,
};

/** Fetches `url` by one of the service's methods, `at` milliseconds after the start, and returns the result. */
export default {
  async fetch(request: Request): Promise<Response> {
    const { way, url, at } = await request.json<{ way: string; url: string; at: number }>();
    clock.now = () => start + at;
    try {
      return Response.json(await FETCH_METHODS[way]?.(url));
    } catch (error) {
      return Response.json(String((error as Error).message));
    }
  },
};
