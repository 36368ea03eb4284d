import { describe, expect, it, vi } from 'vitest';
import { MINUTE_MS } from '../../src/kernel/clock.ts';
import { createEmbedClient, createEmbedToken } from '../embeds/support.ts';
import { createShareContext, makeDashboardGrant, signInOutsider } from '../share-portal/support.ts';
import { createSalesTable, createShare, createShareClient } from '../shares/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { advanceClock } from '../support/clock.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { postDashboard, postVisualization } from '../visualizations/support.ts';

type ExecuteFunction = (headers?: Record<string, string>) => Promise<ApiResponse>;

const NO_CACHE_HEADERS = { 'cache-control': 'no-cache' };

const executeByAccess: Record<string, ExecuteFunction> = {};
const company = await createProvisionedCompany();
await createSalesTable(company);
const chart = await postVisualization(company.as, 'SELECT count(*) AS n FROM sales');
const { _id: id } = await postDashboard(company.as, [chart], { cache_seconds: 3_600 });
const email = 'anew@outside.test';
const context = await createShareContext(company, [makeDashboardGrant(id)], [email]);
const { as } = await signInOutsider(company, email);
const [embed, alone, link] = [
  createEmbedClient('d', await createEmbedToken(company, 'dashboards', id)),
  createEmbedClient('v', await createEmbedToken(company, 'visualizations', chart._id)),
  createShareClient((await createShare(company, id)).token),
];
executeByAccess.embed = (headers) => embed.execute({}, { headers });
executeByAccess['embedded visualization'] = (headers) => alone.execute({}, { headers });
executeByAccess.link = (headers) => link.execute({}, { headers });
executeByAccess.portal = (headers) =>
  as.post(`/api/v1/share-portal/dashboards/${id}/execute`, {
    json: { context_id: context.id, parameters: {} },
    headers,
  });

const isCached = ({ body }: ApiResponse): boolean => (body.result ?? body.results[0]).cached;

describe('a cached result of a shared dashboard', () => {
  // Doors to the same dashboard share what is kept: each comes a minute later than the one before.
  it.each([
    ['embed', 1],
    ['embedded visualization', 2],
    ['link', 3],
    ['portal', 4],
  ] as const)('says when it was computed, and is renewed on Cache-Control: no-cache: %s', async (name, minutes) => {
    const execute = executeByAccess[name] as ExecuteFunction;
    const startedAt = Date.now();
    const cachedAnswer = await vi.waitUntil(
      async () => {
        const answer = await execute();
        return isCached(answer) && answer;
      },
      { timeout: 15_000 },
    );
    const { as_of: asOf, waking } = cachedAnswer.body;
    expect(waking).toBeUndefined();
    expect(Math.abs(Date.parse(asOf) - startedAt)).toBeLessThan(minutes * MINUTE_MS);
    advanceClock(minutes * MINUTE_MS);
    expect((await execute()).body.as_of).toBe(asOf);
    const renewedAnswer = await execute(NO_CACHE_HEADERS);
    expect([isCached(renewedAnswer), renewedAnswer.body.as_of]).toEqual([false, undefined]);
    // Whoever asks for it again and again gets what was just computed.
    const secondRenewal = await execute(NO_CACHE_HEADERS);
    expect(isCached(secondRenewal)).toBe(true);
    expect(Date.parse(secondRenewal.body.as_of)).toBeGreaterThan(Date.parse(asOf));
    expect((await execute({ 'cache-control': 'max-age=0' })).body.as_of).toBe(secondRenewal.body.as_of);
  });

  it('is downloaded as it is, and renewed for a download with Cache-Control: no-cache', async () => {
    const timeChart = await postVisualization(company.as, 'SELECT now()::text AS run_at FROM sales LIMIT 1');
    const { _id: dashboardId } = await postDashboard(company.as, [timeChart], { cache_seconds: 3_600 });
    const { token } = await createShare(company, dashboardId, { embed_options: { allow_downloads: true } });
    const { execute } = createShareClient(token);
    const download = async (headers: Record<string, string> = {}) => {
      const query = new URLSearchParams({ format: 'csv', visualization_id: timeChart._id });
      const path = `/api/v1/public/shares/${token}/execute?${query}`;
      return (await callApi('POST', path, { json: {}, headers })).body;
    };
    const cachedAnswer = await vi.waitUntil(
      async () => {
        const answer = await execute();
        return isCached(answer) && answer;
      },
      { timeout: 15_000 },
    );
    const cachedFile = `run_at\r\n${cachedAnswer.body.results[0].rows[0][0]}\r\n`;
    advanceClock(MINUTE_MS);
    expect(await download()).toBe(cachedFile);
    const renewedFile = await download(NO_CACHE_HEADERS);
    expect(renewedFile).toMatch(/^run_at\r\n/);
    expect(renewedFile).not.toBe(cachedFile);
  });
});
