import { beforeAll, describe, expect, inject, it } from 'vitest';
import { createEmbed, createSigningKey, hostToken, makeEmbedRoutes } from '../embeds/support.ts';
import { aContext, aMember, anOutsider, dashboardGrant, inPortal } from '../share-portal/support.ts';
import { aSalesDashboard, aShare, linkOf, policy, regionsOf, someSales } from '../shares/support.ts';
import { type ApiResponse, call } from '../support/api.ts';
import { createRandom } from '../support/random.ts';
import { aProvisionedCompany } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter } from '../visualizations/support.ts';

/** How many requests: 250, or as many as INTERLEAVED_REQUESTS says, since ten thousand take minutes. */
const REQUESTS = inject('interleavedRequests');
const CONCURRENCY = 8;
const SEED = 20_240_229;
const REGIONS = ['north', 'south', 'east'];

/** A viewer: what may be seen, what may be asked for, and how to ask. */
interface Viewer {
  name: string;
  allowed: string[];
  /** Whether regions may be chosen, or none may be sent. */
  chooses: boolean;
  execute(parameters: Record<string, unknown>): Promise<ApiResponse>;
}

/** The rows of a CSV without quotes. */
const splitLines = (csv: string): string[][] =>
  csv
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','));

const viewers: Viewer[] = [];
beforeAll(async () => {
  // Two companies whose tables have the same names and other rows: theirs must not be mixed up either.
  const [company, other] = [await aProvisionedCompany(), await aProvisionedCompany()];
  await someSales(company);
  const { dashboard, rows } = await aSalesDashboard(company);
  const id = dashboard._id;

  const subsets = [REGIONS, ...REGIONS.map((one) => [one]), ['north', 'east'], ['south', 'east']];
  for (const values of subsets) {
    for (const mode of ['selectable', 'locked']) {
      const share = await aShare(company, id, { share_filter_policies: [policy('regions', mode, values)] });
      const link = linkOf(share.token);
      viewers.push({
        name: `link ${mode} ${values}`,
        allowed: values,
        chooses: mode === 'selectable',
        execute: link.execute,
      });
    }
    const open = await createEmbed(company, 'dashboards', id, {
      fixed_params: { regions: values },
      allow_downloads: true,
    });
    const file = async (parameters: Record<string, unknown>) => {
      const query = `format=csv&visualization_id=${rows._id}`;
      const answer = await call('POST', `/api/embed/d/${open}/execute?${query}`, { json: { parameters } });
      return {
        ...answer,
        body: answer.status === 200 ? { results: [{ rows: splitLines(answer.body) }] } : answer.body,
      };
    };
    viewers.push({ name: `download ${values}`, allowed: values, chooses: false, execute: file });
    const fixed = makeEmbedRoutes(
      'd',
      await createEmbed(company, 'dashboards', id, { fixed_params: { regions: values } }),
    );
    viewers.push({ name: `embed ${values}`, allowed: values, chooses: false, execute: fixed.execute });
    const token = await createEmbed(company, 'visualizations', rows._id, { fixed_params: { regions: values } });
    const alone = async (parameters: Record<string, unknown>) => {
      const answer = await makeEmbedRoutes('v', token).execute(parameters);
      return { ...answer, body: answer.status === 200 ? { results: [answer.body.result] } : answer.body };
    };
    viewers.push({ name: `visualization ${values}`, allowed: values, chooses: false, execute: alone });
    const email = `${values.join('-')}@viewer.test`;
    const context = await aContext(company, [dashboardGrant(id, [policy('regions', 'selectable', REGIONS)])], [email]);
    await aShare(company, id, {
      share_context_id: context.id,
      share_filter_policies: [policy('regions', 'selectable', values)],
    });
    const { as } = await anOutsider(company, email);
    viewers.push({
      name: `portal ${values}`,
      allowed: values,
      chooses: true,
      execute: inPortal(as, context.id, id).execute,
    });
  }
  // Of one dashboard, whose filter is what an attribute of the viewer says.
  const key = await createSigningKey(company);
  const regions = await aVisualization(company.as, 'SELECT region, amount FROM sales WHERE region = ANY({{regions}})', {
    parameters: [{ ...parameter('regions', 'multi_select'), viewer_attribute: 'region' }],
  });
  const decided = await aDashboard(company.as, [regions], { filters: [] });
  for (const values of subsets) {
    const attributes = { region: values };
    const viewer = { id: values.join('-'), attributes };
    const embed = makeEmbedRoutes('d', await createEmbed(company, 'dashboards', decided._id, { viewer }));
    const signed = makeEmbedRoutes('d', await hostToken(key, { dashboard_id: decided._id, viewer }));
    const context = await aContext(company, [dashboardGrant(decided._id)]);
    const email = `${values.join('-')}@decided.test`;
    await aMember(company.as, context.id, { member_type: 'external_email', email, attributes });
    const { as } = await anOutsider(company, email);
    for (const [name, { execute }] of Object.entries({
      embed,
      signed,
      portal: inPortal(as, context.id, decided._id),
    })) {
      viewers.push({ name: `${name} decided by ${values}`, allowed: values, chooses: false, execute });
    }
  }
  const elsewhere = await aSalesDashboard(other);
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
  const empty = linkOf((await aShare(other, elsewhere.dashboard._id)).token);
  viewers.push({ name: 'another company', allowed: [], chooses: true, execute: empty.execute });
}, 120_000);

describe('viewers with different restrictions who send requests in any order', () => {
  it(`never see another’s rows, in ${REQUESTS} requests`, async () => {
    const random = createRandom(SEED);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
    let cached = 0;
    const ask = async () => {
      const viewer = pick(viewers);
      const chosen = REGIONS.filter(() => random() < 0.4);
      const parameters = random() < 0.5 ? {} : { regions: chosen };
      const { status, body } = await viewer.execute(parameters);
      const sent = 'regions' in parameters ? chosen : null;
      const said = `${viewer.name} asks for ${sent}`;
      if (sent !== null && !viewer.chooses) return expect([said, status]).toEqual([said, 403]);
      const isOutside = sent?.some((region) => viewer.allowed.length > 0 && !viewer.allowed.includes(region));
      if (isOutside) return expect([said, status]).toEqual([said, 403]);
      const expected = viewer.allowed.filter((region) => !sent?.length || sent.includes(region)).sort();
      expect([said, status, body.results && regionsOf(body)]).toEqual([said, 200, expected]);
      if (body.results[0].cached) cached += 1;
    };
    for (let asked = 0; asked < REQUESTS; asked += CONCURRENCY)
      await Promise.all(Array.from({ length: CONCURRENCY }, ask));
    // Without answers from the cache this would show nothing.
    expect(cached).toBeGreaterThan(REQUESTS / 10);
  }, 1_200_000);
});
