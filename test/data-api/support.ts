import { allow, aServiceAccountThat, must, type ServiceAccount } from '../support/signed.ts';
import type { Company } from '../support/worlds.ts';
import { aVisualization } from '../visualizations/support.ts';

export const ENDPOINTS_PATH = '/v1/viz-api-endpoints';

let createdCount = 0;

/** Publishes SQL, and answers the endpoint's record. */
export async function aPublished(
  { as }: Pick<Company, 'as'>,
  sql: string,
  { parameters = [], ...more }: Record<string, unknown> = {},
) {
  createdCount += 1;
  const { _id } = await aVisualization(as, sql, { parameters });
  const json = { name: 'Published', slug: `published-${createdCount}`, visualization_id: _id, ...more };
  return must(as.post(ENDPOINTS_PATH, { json }));
}

/** A service account that may read every endpoint, and whatever else `actions` say. */
export const aReader = (company: Company, ...actions: Parameters<typeof allow>): Promise<ServiceAccount> =>
  aServiceAccountThat(company, allow('data_api:execute', ...actions));
