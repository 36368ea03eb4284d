import { expect } from 'vitest';
import { call, type RequestOptions } from '../support/api.ts';
import type { Company } from '../support/worlds.ts';
import { aDashboard, aVisualization, parameter, someSales } from '../visualizations/support.ts';

/** A dashboard over `sales` with filters of every sort, in a company that has the table. */
export async function aSalesDashboard(company: Company, more: Record<string, unknown> = {}) {
  const rows = await aVisualization(
    company.as,
    `SELECT region, amount FROM sales WHERE true [[AND region = ANY({{regions}})]] [[AND region = ANY({{region}})]]
       [[AND day >= {{days.from}}]] [[AND day <= {{days.to}}]] [[AND amount >= {{least}}]] ORDER BY amount`,
    {
      name: 'Rows',
      parameters: [
        parameter('regions', 'multi_select'),
        parameter('region', 'select'),
        parameter('days', 'date_range'),
        parameter('least', 'number'),
      ],
    },
  );
  const dashboard = await aDashboard(company.as, [rows], {
    filters: [
      {
        slug: 'regions',
        label: 'Regions',
        kind: 'multi_select',
        options: {
          sql: 'SELECT DISTINCT region, upper(region) FROM sales [[WHERE region = ANY({{region}})]] ORDER BY 1',
        },
      },
      {
        slug: 'region',
        label: 'Region',
        kind: 'select',
        options: ['north', 'south', 'east'].map((value) => ({ value, label: value })),
      },
      { slug: 'days', label: 'Days', kind: 'date_range' },
    ],
    ...more,
  });
  return { dashboard: dashboard as { _id: string; slug: string; name: string }, rows: rows as { _id: string } };
}

/** The regions of the rows that a result shows, one for each row. */
export const regionsIn = (body: { results: { rows: string[][] }[] }): string[] =>
  (body.results[0]?.rows ?? []).map(([region]) => region as string);

/** Each region once, in alphabetical order. */
export const regionsOf = (body: { results: { rows: string[][] }[] }): string[] => [...new Set(regionsIn(body))].sort();

export const policy = (slug: string, mode: string, values: string[] = [], kind = 'multi_select') => ({
  filter_slug: slug,
  filter_kind: kind,
  mode,
  allowed_values: values,
});

/** Shares a dashboard and answers the share with its token. */
export async function aShare({ as }: Company, dashboardId: string, more: Record<string, unknown> = {}) {
  const { status, body } = await as.post(`/api/v1/dashboards/${dashboardId}/shares`, {
    json: { share_type: 'link', ...more },
  });
  expect([status, body]).toEqual([201, expect.objectContaining({ token: expect.any(String) })]);
  return body;
}

/** What the holder of a share's token may ask. */
export function linkOf(token: string, headers: Record<string, string> = {}) {
  const path = `/api/v1/public/shares/${token}`;
  const sending = (more: RequestOptions = {}): RequestOptions => ({
    ...more,
    headers: { ...headers, ...more.headers },
  });
  return {
    resolve: (more?: RequestOptions) => call('GET', `${path}/resolve`, sending(more)),
    options: (slug: string, search = '') => call('GET', `${path}/filters/${slug}/options?search=${search}`, sending()),
    execute: (parameters: unknown = {}, more?: RequestOptions) =>
      call('POST', `${path}/execute`, { json: { parameters }, ...sending(more) }),
  };
}

export { someSales };
