import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, inject } from 'vitest';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';
import type { SharedItemView, ViewResult } from '../../src/presentation/viewing.ts';
import { send } from '../support/send.ts';

/** The demo data of the system that answers in these tests, and its company. */
export let demo = inject('demo') as Demo & DemoDashboard;
export const url = demo?.base_url ?? '';

let token: Promise<string> | undefined;

/** Makes a company for this file alone, without the demo's data, so that its tests may change what all pages of a company show. */
export function useOwnCompany(): void {
  const sharedDemo = { demo, token };
  beforeAll(async () => {
    const slug = `own-${crypto.randomUUID().slice(0, 8)}`;
    const owner = { email: 'owner@demo.test', name: 'Olga Owner', password: 'quiet-harbour-lantern' };
    await send(url, 'POST', '/admin/organizations', {
      token: demo.platform_admin_token,
      json: { name: 'Demo', slug, owner },
    });
    demo = { ...demo, company: { ...demo.company, slug }, owner: { email: owner.email, password: owner.password } };
    token = undefined;
    await requestApi('POST', '/v1/managed-tables/provision');
    // A passkey or factor that a test makes ends the owner's other sessions.
    token = undefined;
  });
  afterAll(() => {
    ({ demo, token } = sharedDemo);
  });
}

/** Sends a request as the owner of the demo's company. @throws `RequestRefusedError` when it is refused */
export async function requestApi<T>(method: string, path: string, json?: unknown): Promise<T> {
  const { company, owner } = demo;
  token ??= send<{ token: string }>(url, 'POST', '/v1/auth/login', {
    json: { company_slug: company.slug, ...owner },
  }).then((answer) => answer.token);
  return send<T>(url, method, path, { token: await token, json });
}

/** Sends bytes to a path by PUT, as the owner of the demo's company. */
export async function uploadBytes(path: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
  // The token is known once something else was asked.
  const headers = { authorization: `Bearer ${await token}` };
  const { status } = await fetch(url + path, { method: 'PUT', headers, body });
  if (status !== 200) throw new Error(`${path} answered ${status}.`);
}

/** A chart in the form in which a test describes it. */
export interface Chart {
  name: string;
  sql: string;
  chart?: Record<string, unknown>;
  description?: string;
  place?: [x: number, y: number, w: number, h: number];
}

/** A filter in the form in which a test describes it. Where `options` are given, they come from the SQL of its charts. */
export interface Filter {
  slug: string;
  label: string;
  kind: string;
  default?: unknown;
  required?: boolean;
  options?: unknown;
}

/** Creates a dashboard of these charts, each of which has all the filters as parameters. @returns its id */
export async function createDashboard(
  charts: readonly Chart[],
  {
    name = 'Bird strikes',
    filters = [],
    ...more
  }: { name?: string; filters?: Filter[]; [member: string]: unknown } = {},
): Promise<string> {
  const parameters = filters.map(({ slug, label, kind }) => ({ slug, label, kind }));
  const layout = [];
  for (const [at, { place, ...chart }] of charts.entries()) {
    const { _id } = await requestApi<{ _id: string }>('POST', '/v1/visualizations', { ...chart, parameters });
    const [x, y, w, h] = place ?? [0, at * 4, 12, 4];
    layout.push({ visualization_id: _id, x, y, w, h });
  }
  const createdDashboard = await requestApi<{ _id: string }>('POST', '/v1/dashboards', {
    cache_seconds: 0,
    ...more,
    name,
    layout,
    filters,
  });
  return createdDashboard._id;
}

/** Shares a dashboard by a link. @returns the share's id, and the path of its page */
export async function createLink(dashboardId: string, shareFields: Record<string, unknown> = {}) {
  const path = `/api/v1/dashboards/${dashboardId}/shares`;
  const share = await requestApi<{ id: string; url: string }>('POST', path, { share_type: 'link', ...shareFields });
  return { id: share.id, path: new URL(share.url).pathname };
}

/** Embeds a dashboard or visualization. @returns the path of its page */
export async function createEmbed(
  id: string,
  embedOptions: Record<string, unknown> = {},
  target = 'dashboards',
): Promise<string> {
  const embed = await requestApi<{ url: string }>('POST', `/api/v1/embed/${target}/${id}`, embedOptions);
  return new URL(embed.url).pathname;
}

/** Creates a context that grants dashboards to an address. @returns its id, and the id of its member */
export async function createContext(
  dashboardIds: readonly string[],
  email: string,
  policies: readonly unknown[] = [],
  name = `For ${email}`,
) {
  const grants = dashboardIds.map((target_id) => ({ target_type: 'dashboard', target_id, filter_policies: policies }));
  const context = await requestApi<{ id: string }>('POST', '/api/v1/share-contexts', { name, grants });
  const path = `/api/v1/share-contexts/${context.id}/members`;
  const member = await requestApi<{ id: string }>('POST', path, { member_type: 'external_email', email });
  return { id: context.id, memberPath: `${path}/${member.id}` };
}

const toApiPath = (page: string): string =>
  page.replace(/^\/p\//, '/api/v1/public/shares/').replace(/^\/embed\//, '/api/embed/');

/** Returns the results that the API gives for the page of a dashboard, by the name of the chart. */
export async function readResults(page: string, parameters: unknown = {}): Promise<Map<string, ViewResult>> {
  const base = toApiPath(page);
  const infoRoute = base.startsWith('/api/embed') ? 'info' : 'resolve';
  const [{ dashboard }, { results }] = await Promise.all([
    send<{ dashboard: SharedItemView }>(url, 'GET', `${base}/${infoRoute}`),
    send<{ results: ViewResult[] }>(url, 'POST', `${base}/execute`, { json: { parameters } }),
  ]);
  const names = new Map(dashboard.charts.map((chart) => [chart.visualization_id, chart.name]));
  return new Map(results.map((result) => [names.get(result.visualization_id) ?? '', result]));
}

/** Returns the labels of the options that a filter offers on the page of a dashboard. */
export async function readOptionLabels(page: string, slug: string, search = ''): Promise<string[]> {
  const path = `${toApiPath(page)}/filters/${slug}/options?${new URLSearchParams({ search })}`;
  const { options } = await send<{ options: { label: string }[] }>(url, 'GET', path);
  return options.map(({ label }) => label);
}

/** Returns the link in the newest mail to an address, once at least `mailCount` mails have arrived. */
export async function readMailedLink(email: string, mailCount = 1): Promise<string> {
  for (;;) {
    const query = new URLSearchParams({ to: email });
    const sentMails = (await (await fetch(`${demo.mailbox_url}?${query}`)).json()) as { text: string }[];
    const [link] = /http\S+\?token=\S+/.exec(sentMails[0]?.text ?? '') ?? [];
    // Where the tests open pages, which is the same place.
    if (sentMails.length >= mailCount && link) return link.replace('//localhost:', '//127.0.0.1:');
    await sleep(50);
  }
}

/** Invites a user. @returns the link in the mail */
export async function inviteUser(email = `invited-${crypto.randomUUID()}@example.com`): Promise<string> {
  await requestApi('POST', '/v1/users/invite', { email });
  return readMailedLink(email);
}

/** Returns the code in the newest mail to an address, once at least `mailCount` mails have arrived. */
export async function readMailedCode(email: string, mailCount = 1): Promise<string> {
  for (;;) {
    const query = new URLSearchParams({ to: email });
    const sentMails = (await (await fetch(`${demo.mailbox_url}?${query}`)).json()) as { text: string }[];
    const [code] = /^\d{4}-\d{4}$/m.exec(sentMails[0]?.text ?? '') ?? [];
    if (sentMails.length >= mailCount && code) return code;
    await sleep(50);
  }
}
