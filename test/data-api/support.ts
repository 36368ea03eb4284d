import type { Company } from '../support/companies.ts';
import { createAllowedAccount, expectSuccess, makeAllow, type ServiceAccount } from '../support/signed.ts';
import { postVisualization } from '../visualizations/support.ts';

export const ENDPOINTS_PATH = '/v1/viz-api-endpoints';

let createdCount = 0;

/** Publishes SQL as an endpoint of the Data API, and returns the endpoint's record. */
export async function publishSql(
  { as }: Pick<Company, 'as'>,
  sql: string,
  { parameters = [], ...more }: Record<string, unknown> = {},
) {
  createdCount += 1;
  const { _id } = await postVisualization(as, sql, { parameters });
  const json = { name: 'Published', slug: `published-${createdCount}`, visualization_id: _id, ...more };
  return expectSuccess(as.post(ENDPOINTS_PATH, { json }));
}

/** Creates a service account that may read every endpoint, and has permission for further `actions`. */
export const createReader = (company: Company, ...actions: Parameters<typeof makeAllow>): Promise<ServiceAccount> =>
  createAllowedAccount(company, makeAllow('data_api:execute', ...actions));
