import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createEmbedClient, createEmbedToken, createSigningKey, hostToken } from '../embeds/support.ts';
import {
  addContextMember,
  createPortalClient,
  createShareContext,
  makeDashboardGrant,
  signInOutsider,
} from '../share-portal/support.ts';
import {
  createSalesDashboard,
  createSalesTable,
  createShare,
  createShareClient,
  listDistinctRegions,
  makePolicy,
} from '../shares/support.ts';
import { type ApiResponse, callApi } from '../support/api.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { createRandomGenerator } from '../support/random.ts';
import { makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

/** The number of requests: 250, or as many as INTERLEAVED_REQUESTS says, since ten thousand take minutes. */
const REQUEST_COUNT = inject('interleavedRequests');
const CONCURRENCY = 8;
const RANDOM_SEED = 20_240_229;
const REGIONS = ['north', 'south', 'east'];

/** A viewer: the regions that the viewer may see and choose, and how the viewer executes the dashboard. */
interface TestViewer {
  name: string;
  allowedRegions: string[];
  /** Whether the viewer may choose regions; otherwise no parameters may be sent. */
  mayChoose: boolean;
  execute(parameters: Record<string, unknown>): Promise<ApiResponse>;
}

/** Splits a CSV without quotes into rows. */
const splitLines = (csv: string): string[][] =>
  csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','));

const testViewers: TestViewer[] = [];
beforeAll(async () => {
  // Two companies whose tables have the same names and other rows: theirs must not be mixed up either.
  const [company, other] = [await createProvisionedCompany(), await createProvisionedCompany()];
  await createSalesTable(company);
  const { dashboard, rows } = await createSalesDashboard(company);
  const id = dashboard._id;

  const subsets = [REGIONS, ...REGIONS.map((region) => [region]), ['north', 'east'], ['south', 'east']];
  for (const values of subsets) {
    for (const mode of ['selectable', 'locked']) {
      const share = await createShare(company, id, { share_filter_policies: [makePolicy('regions', mode, values)] });
      const link = createShareClient(share.token);
      testViewers.push({
        name: `link ${mode} ${values}`,
        allowedRegions: values,
        mayChoose: mode === 'selectable',
        execute: link.execute,
      });
    }
    const openEmbed = await createEmbedToken(company, 'dashboards', id, {
      fixed_params: { regions: values },
      allow_downloads: true,
    });
    const downloadFile = async (parameters: Record<string, unknown>) => {
      const query = `format=csv&visualization_id=${rows._id}`;
      const answer = await callApi('POST', `/api/embed/d/${openEmbed}/execute?${query}`, { json: { parameters } });
      return {
        ...answer,
        body: answer.status === 200 ? { results: [{ rows: splitLines(answer.body) }] } : answer.body,
      };
    };
    testViewers.push({ name: `download ${values}`, allowedRegions: values, mayChoose: false, execute: downloadFile });
    const fixedEmbed = createEmbedClient(
      'd',
      await createEmbedToken(company, 'dashboards', id, { fixed_params: { regions: values } }),
    );
    testViewers.push({
      name: `embed ${values}`,
      allowedRegions: values,
      mayChoose: false,
      execute: fixedEmbed.execute,
    });
    const token = await createEmbedToken(company, 'visualizations', rows._id, { fixed_params: { regions: values } });
    const executeStandalone = async (parameters: Record<string, unknown>) => {
      const answer = await createEmbedClient('v', token).execute(parameters);
      return { ...answer, body: answer.status === 200 ? { results: [answer.body.result] } : answer.body };
    };
    testViewers.push({
      name: `visualization ${values}`,
      allowedRegions: values,
      mayChoose: false,
      execute: executeStandalone,
    });
    const email = `${values.join('-')}@viewer.test`;
    const context = await createShareContext(
      company,
      [makeDashboardGrant(id, [makePolicy('regions', 'selectable', REGIONS)])],
      [email],
    );
    await createShare(company, id, {
      share_context_id: context.id,
      share_filter_policies: [makePolicy('regions', 'selectable', values)],
    });
    const { as } = await signInOutsider(company, email);
    testViewers.push({
      name: `portal ${values}`,
      allowedRegions: values,
      mayChoose: true,
      execute: createPortalClient(as, context.id, id).execute,
    });
  }
  // Of one dashboard, whose filter is what an attribute of the viewer says.
  const key = await createSigningKey(company);
  const regions = await postVisualization(
    company.as,
    'SELECT region, amount FROM sales WHERE region = ANY({{regions}})',
    {
      parameters: [{ ...makeParameter('regions', 'multi_select'), viewer_attribute: 'region' }],
    },
  );
  const attributeDashboard = await postDashboard(company.as, [regions], { filters: [] });
  for (const values of subsets) {
    const attributes = { region: values };
    const viewer = { id: values.join('-'), attributes };
    const embed = createEmbedClient(
      'd',
      await createEmbedToken(company, 'dashboards', attributeDashboard._id, { viewer }),
    );
    const signedEmbed = createEmbedClient('d', await hostToken(key, { dashboard_id: attributeDashboard._id, viewer }));
    const context = await createShareContext(company, [makeDashboardGrant(attributeDashboard._id)]);
    const email = `${values.join('-')}@decided.test`;
    await addContextMember(company.as, context.id, { member_type: 'external_email', email, attributes });
    const { as } = await signInOutsider(company, email);
    for (const [name, { execute }] of Object.entries({
      embed,
      signed: signedEmbed,
      portal: createPortalClient(as, context.id, attributeDashboard._id),
    })) {
      testViewers.push({ name: `${name} decided by ${values}`, allowedRegions: values, mayChoose: false, execute });
    }
  }
  const otherDashboard = await createSalesDashboard(other);
  await other.as.post('/v1/managed-tables', {
    json: {
      display_name: 'sales',
      columns: [
        { name: 'region', display_name: 'Region', type: 'text', nullable: true },
        { name: 'amount', display_name: 'Amount', type: 'decimal', nullable: true },
        { name: 'day', display_name: 'Day', type: 'date', nullable: true },
      ],
    },
  });
  const emptyLink = createShareClient((await createShare(other, otherDashboard.dashboard._id)).token);
  testViewers.push({ name: 'another company', allowedRegions: [], mayChoose: true, execute: emptyLink.execute });
}, 120_000);

describe('viewers with different restrictions who send requests in any order', () => {
  it(`never see another’s rows, in ${REQUEST_COUNT} requests`, async () => {
    const random = createRandomGenerator(RANDOM_SEED);
    const pickRandom = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    let cachedCount = 0;
    const sendRandomRequest = async () => {
      const viewer = pickRandom(testViewers);
      const chosenRegions = REGIONS.filter(() => random() < 0.4);
      const parameters = random() < 0.5 ? {} : { regions: chosenRegions };
      const { status, body } = await viewer.execute(parameters);
      const sentRegions = 'regions' in parameters ? chosenRegions : null;
      const requestDescription = `${viewer.name} asks for ${sentRegions}`;
      if (sentRegions !== null && !viewer.mayChoose)
        return expect([requestDescription, status]).toEqual([requestDescription, 403]);
      const isOutside = sentRegions?.some(
        (region) => viewer.allowedRegions.length > 0 && !viewer.allowedRegions.includes(region),
      );
      if (isOutside) return expect([requestDescription, status]).toEqual([requestDescription, 403]);
      const expected = viewer.allowedRegions
        .filter((region) => !sentRegions?.length || sentRegions.includes(region))
        .sort();
      expect([requestDescription, status, body.results && listDistinctRegions(body)]).toEqual([
        requestDescription,
        200,
        expected,
      ]);
      if (body.results[0].cached) cachedCount += 1;
    };
    for (let requestCount = 0; requestCount < REQUEST_COUNT; requestCount += CONCURRENCY)
      await Promise.all(Array.from({ length: CONCURRENCY }, sendRandomRequest));
    // Without answers from the cache this would show nothing.
    expect(cachedCount).toBeGreaterThan(REQUEST_COUNT / 10);
  }, 1_200_000);
});
