import { ApiError, type Client } from '../client/client.ts';
import { CHARTS, DASHBOARD, FILTER_OPTIONS, PARAMETERS, SINGLE_CHART_SLUG } from './demo-charts.ts';

/** Fields of `demo.json` that describe the dashboard and the pages that open it. */
export interface DemoDashboard {
  dashboard_id: string;
  visualization_id: string;
  embed_url: string;
  /** The public page of the same dashboard, behind a link. */
  public_share_url: string;
}

const EMBED_SECONDS = 31_536_000;
const LINK_NAME = 'Link of the demo';

/**
 * Makes the demo's dashboard with an embed and a link, or reuses those of an earlier start. Existing objects stay
 * unchanged, also if people have edited them; an expired embed is replaced.
 * @param api client of the company's owner
 * @param storedFields the fields of an earlier start
 */
export async function makeDemoDashboard(
  baseUrl: string,
  api: Client,
  storedFields: Partial<DemoDashboard>,
): Promise<DemoDashboard> {
  const findExisting = async (id: string | undefined, path: '/v1/dashboards/{id}' | '/v1/visualizations/{id}') =>
    id !== undefined && (await isRequestSuccessful(() => api.get(path, { params: { id } }))) ? id : undefined;
  const findOpenPage = async (
    url: string | undefined,
    path: '/api/embed/d/{token}/info' | '/api/v1/public/shares/{token}/resolve',
  ) => {
    const page = url === undefined ? undefined : new URL(url).pathname;
    const token = page?.split('/').at(-1) ?? '';
    return page !== undefined && (await isRequestSuccessful(() => api.get(path, { params: { token } })))
      ? page
      : undefined;
  };

  const dashboard = await findExisting(storedFields.dashboard_id, '/v1/dashboards/{id}');
  const charts = dashboard === undefined ? await makeCharts(api) : undefined;
  const dashboardId = dashboard ?? (await findOrMakeDashboard(api, charts as ReadonlyMap<string, string>));
  const singleChartId =
    (await findExisting(storedFields.visualization_id, '/v1/visualizations/{id}')) ??
    ((charts ?? (await makeCharts(api))).get(SINGLE_CHART_SLUG) as string);
  // The token of a deleted dashboard opens nothing.
  const embedPage = await findOpenPage(storedFields.embed_url, '/api/embed/d/{token}/info');
  const linkPage = await findOpenPage(storedFields.public_share_url, '/api/v1/public/shares/{token}/resolve');
  return {
    dashboard_id: dashboardId,
    visualization_id: singleChartId,
    // The port may differ from that of the last start.
    embed_url: baseUrl + (embedPage ?? (await createEmbed(api, dashboardId))),
    public_share_url: baseUrl + (linkPage ?? (await createLink(api, dashboardId))),
  };
}

/** Returns the ids of the demo's visualizations by slug, making those that are missing. */
async function makeCharts(api: Client): Promise<ReadonlyMap<string, string>> {
  const ids = await readIdsBySlug(api, '/v1/visualizations');
  for (const { gridPosition: _gridPosition, ...definition } of CHARTS) {
    if (ids.has(definition.slug)) continue;
    const visualization = await api.post('/v1/visualizations', { body: { ...definition, parameters: PARAMETERS } });
    ids.set(definition.slug, visualization._id);
  }
  return ids;
}

async function findOrMakeDashboard(api: Client, charts: ReadonlyMap<string, string>): Promise<string> {
  const existingId = (await readIdsBySlug(api, '/v1/dashboards')).get(DASHBOARD.slug);
  if (existingId !== undefined) return existingId;
  const { _id } = await api.post('/v1/dashboards', {
    body: {
      ...DASHBOARD,
      layout: CHARTS.map(({ slug, gridPosition }) => ({
        visualization_id: charts.get(slug) as string,
        ...gridPosition,
      })),
      filters: PARAMETERS.map((parameter) => ({ ...parameter, options: FILTER_OPTIONS[parameter.slug] ?? null })),
    },
  });
  return _id;
}

/** Reads the ids of all existing objects by slug. */
async function readIdsBySlug(api: Client, path: '/v1/visualizations' | '/v1/dashboards'): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let page = 1; ; page += 1) {
    const { records } = await api.get(path, { query: { page, per_page: 100 } });
    for (const { slug, _id } of records) ids.set(slug, _id);
    if (records.length < 100) return ids;
  }
}

async function createEmbed(api: Client, dashboardId: string): Promise<string> {
  const { url } = await api.post('/api/v1/embed/dashboards/{id}', {
    params: { id: dashboardId },
    body: { allowed_params: PARAMETERS.map(({ slug }) => slug), expires_in: EMBED_SECONDS },
  });
  return new URL(url).pathname;
}

/** Makes a new link. Revokes the link of an earlier start that was killed before its token was stored. */
async function createLink(api: Client, dashboardId: string): Promise<string> {
  const dashboardParams = { params: { id: dashboardId } };
  const { records } = await api.get('/api/v1/dashboards/{id}/shares', { ...dashboardParams, query: { per_page: 100 } });
  for (const { id: shareId, name, status } of records) {
    if (name !== LINK_NAME || status !== 'active') continue;
    await api.delete('/api/v1/dashboard-shares/{shareId}', { params: { shareId } });
  }
  const body = { name: LINK_NAME, share_type: 'link' } as const;
  const { url } = await api.post('/api/v1/dashboards/{id}/shares', { ...dashboardParams, body });
  return new URL(url as string).pathname;
}

/** Returns true if the API answers with success; false if the object is gone or the token is invalid. */
export async function isRequestSuccessful(sendRequest: () => Promise<unknown>): Promise<boolean> {
  try {
    await sendRequest();
    return true;
  } catch (error) {
    if (error instanceof ApiError && [401, 404].includes(error.status)) return false;
    throw error;
  }
}
