import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { MINUTE_MS } from '../../src/kernel/clock.ts';
import { createEmbed, makeEmbedRoutes } from '../embeds/support.ts';
import { aContext, anOutsider, dashboardGrant } from '../share-portal/support.ts';
import { aShare, linkOf, someSales } from '../shares/support.ts';
import type { ApiResponse } from '../support/api.ts';
import { advanceClock, resetClock } from '../support/clock.ts';
import { aProvisionedCompany } from '../support/worlds.ts';
import { aDashboard, aVisualization } from '../visualizations/support.ts';

type Execute = (headers?: Record<string, string>) => Promise<ApiResponse>;

const NO_CACHE = { 'cache-control': 'no-cache' };

const executeByWay: Record<string, Execute> = {};
beforeAll(async () => {
  const company = await aProvisionedCompany();
  await someSales(company);
  const chart = await aVisualization(company.as, 'SELECT count(*) AS n FROM sales');
  const { _id: id } = await aDashboard(company.as, [chart], { cache_seconds: 3_600 });
  const email = 'anew@outside.test';
  const context = await aContext(company, [dashboardGrant(id)], [email]);
  const { as } = await anOutsider(company, email);
  const [embed, alone, link] = [
    makeEmbedRoutes('d', await createEmbed(company, 'dashboards', id)),
    makeEmbedRoutes('v', await createEmbed(company, 'visualizations', chart._id)),
    linkOf((await aShare(company, id)).token),
  ];
  executeByWay.embed = (headers) => embed.execute({}, { headers });
  executeByWay['embedded visualization'] = (headers) => alone.execute({}, { headers });
  executeByWay.link = (headers) => link.execute({}, { headers });
  executeByWay.portal = (headers) =>
    as.post(`/api/v1/share-portal/dashboards/${id}/execute`, {
      json: { context_id: context.id, parameters: {} },
      headers,
    });
});
afterEach(resetClock);

const isCached = ({ body }: ApiResponse): boolean => (body.result ?? body.results[0]).cached;

describe('a cached result of a shared dashboard', () => {
  // Doors to the same dashboard share what is kept: each comes a minute later than the one before.
  it.each([
    ['embed', 1],
    ['embedded visualization', 2],
    ['link', 3],
    ['portal', 4],
  ] as const)('says when it was computed, and is renewed on Cache-Control: no-cache: %s', async (name, minutes) => {
    const execute = executeByWay[name] as Execute;
    const before = Date.now();
    const kept = await vi.waitUntil(
      async () => {
        const answer = await execute();
        return isCached(answer) && answer;
      },
      { timeout: 15_000 },
    );
    const { as_of: asOf, waking } = kept.body;
    expect(waking).toBeUndefined();
    expect(Math.abs(Date.parse(asOf) - before)).toBeLessThan(minutes * MINUTE_MS);
    advanceClock(minutes * MINUTE_MS);
    expect((await execute()).body.as_of).toBe(asOf);
    const anew = await execute(NO_CACHE);
    expect([isCached(anew), anew.body.as_of]).toEqual([false, undefined]);
    // Whoever asks for it again and again gets what was just computed.
    const again = await execute(NO_CACHE);
    expect(isCached(again)).toBe(true);
    expect(Date.parse(again.body.as_of)).toBeGreaterThan(Date.parse(asOf));
    expect((await execute({ 'cache-control': 'max-age=0' })).body.as_of).toBe(again.body.as_of);
  });
});
