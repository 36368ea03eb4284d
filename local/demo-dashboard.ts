import { CHART_ALONE, CHARTS, DASHBOARD, OPTIONS, PARAMETERS } from './demo-charts.ts';
import { DemoRefused, send } from './demo-client.ts';

/** What of `demo.json` names the dashboard, and where it opens. */
export interface DemoDashboard {
  dashboard_id: string;
  visualization_id: string;
  /** The page of the embedded dashboard. */
  embed_url: string;
  /** The page of the same dashboard, behind a link. */
  public_share_url: string;
}

const EMBED_SECONDS = 31_536_000;
const LINK_NAME = 'Link of the demo';

/** Calls the API for the company's owner. */
type Api = <T>(method: string, path: string, json?: unknown) => Promise<T>;

/**
 * Makes the dashboard on the demo's table, an embed of it and a link to it, or takes up what an earlier start left. What is
 * still there stays as it is, also where people have changed it; an embed that has expired is made anew.
 * @param token of the company's owner
 * @param known what an earlier start told
 */
export async function makeDashboard(
  baseUrl: string,
  token: string,
  known: Partial<DemoDashboard>,
): Promise<DemoDashboard> {
  const api: Api = (method, path, json) => send(baseUrl, method, path, { token, json });
  const stillThere = async (id: string | undefined, path: string) =>
    id !== undefined && (await isAnswered(() => api('GET', `${path}/${id}`))) ? id : undefined;
  const stillOpen = async (url: string | undefined, infoOf: (token: string) => string) => {
    const path = url === undefined ? undefined : new URL(url).pathname;
    const info = infoOf(path?.split('/').at(-1) ?? '');
    return path !== undefined && (await isAnswered(() => send(baseUrl, 'GET', info))) ? path : undefined;
  };

  const dashboard = await stillThere(known.dashboard_id, '/v1/dashboards');
  const charts = dashboard === undefined ? await drawCharts(api) : undefined;
  const dashboardId = dashboard ?? (await composeDashboard(api, charts as ReadonlyMap<string, string>));
  const alone =
    (await stillThere(known.visualization_id, '/v1/visualizations')) ??
    ((charts ?? (await drawCharts(api))).get(CHART_ALONE) as string);
  // Tokens of a dashboard that is gone open nothing.
  const embedded = await stillOpen(known.embed_url, (embed) => `/api/embed/d/${embed}/info`);
  const linked = await stillOpen(known.public_share_url, (share) => `/api/v1/public/shares/${share}/resolve`);
  return {
    dashboard_id: dashboardId,
    visualization_id: alone,
    // The port may be another one than at the last start.
    embed_url: baseUrl + (embedded ?? (await embed(api, dashboardId))),
    public_share_url: baseUrl + (linked ?? (await shareByLink(api, dashboardId))),
  };
}

/** The ids of the demo's visualizations by their slugs; those that are missing are made. */
async function drawCharts(api: Api): Promise<ReadonlyMap<string, string>> {
  const ids = await idsBySlug(api, '/v1/visualizations');
  for (const { place: _place, ...definition } of CHARTS) {
    if (ids.has(definition.slug)) continue;
    const made = await api<{ _id: string }>('POST', '/v1/visualizations', { ...definition, parameters: PARAMETERS });
    ids.set(definition.slug, made._id);
  }
  return ids;
}

async function composeDashboard(api: Api, charts: ReadonlyMap<string, string>): Promise<string> {
  const known = (await idsBySlug(api, '/v1/dashboards')).get(DASHBOARD.slug);
  if (known !== undefined) return known;
  const { _id } = await api<{ _id: string }>('POST', '/v1/dashboards', {
    ...DASHBOARD,
    layout: CHARTS.map(({ slug, place }) => ({ visualization_id: charts.get(slug), ...place })),
    filters: PARAMETERS.map((parameter) => ({ ...parameter, options: OPTIONS[parameter.slug] ?? null })),
  });
  return _id;
}

/** The ids of all that there are, by their slugs. */
async function idsBySlug(api: Api, path: string): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (let page = 1; ; page += 1) {
    const query = `page=${page}&per_page=100`;
    const { records } = await api<{ records: { _id: string; slug: string }[] }>('GET', `${path}?${query}`);
    for (const { slug, _id } of records) ids.set(slug, _id);
    if (records.length < 100) return ids;
  }
}

async function embed(api: Api, dashboardId: string): Promise<string> {
  const { url } = await api<{ url: string }>('POST', `/api/v1/embed/dashboards/${dashboardId}`, {
    allowed_params: PARAMETERS.map(({ slug }) => slug),
    expires_in: EMBED_SECONDS,
  });
  return new URL(url).pathname;
}

/** A new link. One of an earlier start whose token was lost, because that start was killed, is ended. */
async function shareByLink(api: Api, dashboardId: string): Promise<string> {
  const shares = `/api/v1/dashboards/${dashboardId}/shares`;
  const { records } = await api<{ records: { id: string; name: string; status: string }[] }>(
    'GET',
    `${shares}?per_page=100`,
  );
  for (const { id, name, status } of records) {
    if (name === LINK_NAME && status === 'active') await api('DELETE', `/api/v1/dashboard-shares/${id}`);
  }
  const { url } = await api<{ url: string }>('POST', shares, { name: LINK_NAME, share_type: 'link' });
  return new URL(url).pathname;
}

/** Whether the API knows it; false when it says that it is gone, or a token is no good any more. */
async function isAnswered(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (error instanceof DemoRefused && [401, 404].includes(error.status)) return false;
    throw error;
  }
}
