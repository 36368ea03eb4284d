import { expect } from 'vitest';
import { callApi, type RequestOptions } from '../support/api.ts';
import type { Company } from '../support/companies.ts';
import { createSalesTable, makeParameter, postDashboard, postVisualization } from '../visualizations/support.ts';

/** Creates a dashboard over `sales` with filters of every kind, in a company that has the table. */
export async function createSalesDashboard(company: Company, otherFields: Record<string, unknown> = {}) {
  const rows = await postVisualization(
    company.as,
    `SELECT region, amount FROM sales WHERE true [[AND region = ANY({{regions}})]] [[AND region = ANY({{region}})]]
       [[AND day >= {{days.from}}]] [[AND day <= {{days.to}}]] [[AND amount >= {{least}}]] ORDER BY amount`,
    {
      name: 'Rows',
      parameters: [
        makeParameter('regions', 'multi_select'),
        makeParameter('region', 'select'),
        makeParameter('days', 'date_range'),
        makeParameter('least', 'number'),
      ],
    },
  );
  const dashboard = await postDashboard(company.as, [rows], {
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
    ...otherFields,
  });
  return { dashboard: dashboard as { _id: string; slug: string; name: string }, rows: rows as { _id: string } };
}

/** Returns the regions of the rows in a result, one for each row. */
export const listRegions = (body: { results: { rows: string[][] }[] }): string[] =>
  (body.results[0]?.rows ?? []).map(([region]) => region as string);

/** Returns each region in a result once, in alphabetical order. */
export const listDistinctRegions = (body: { results: { rows: string[][] }[] }): string[] =>
  [...new Set(listRegions(body))].sort();

export const makePolicy = (slug: string, mode: string, values: string[] = [], kind = 'multi_select') => ({
  filter_slug: slug,
  filter_kind: kind,
  mode,
  allowed_values: values,
});

/** Shares a dashboard. @returns the share with its token */
export async function createShare({ as }: Company, dashboardId: string, otherFields: Record<string, unknown> = {}) {
  const { status, body } = await as.post(`/api/v1/dashboards/${dashboardId}/shares`, {
    json: { share_type: 'link', ...otherFields },
  });
  expect([status, body]).toEqual([201, expect.objectContaining({ token: expect.any(String) })]);
  return body;
}

/** Returns callers of the routes that the holder of a share's token may use. */
export function createShareClient(token: string, headers: Record<string, string> = {}) {
  const path = `/api/v1/public/shares/${token}`;
  const makeOptions = (options: RequestOptions = {}): RequestOptions => ({
    ...options,
    headers: { ...headers, ...options.headers },
  });
  return {
    resolve: (options?: RequestOptions) => callApi('GET', `${path}/resolve`, makeOptions(options)),
    options: (slug: string, search = '') =>
      callApi('GET', `${path}/filters/${slug}/options?search=${search}`, makeOptions()),
    execute: (parameters: unknown = {}, options?: RequestOptions) =>
      callApi('POST', `${path}/execute`, { json: { parameters }, ...makeOptions(options) }),
  };
}

export { createSalesTable };
