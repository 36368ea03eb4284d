import { type Client, createClient, withKey } from '../client/client.ts';
import type { Demo } from './demo.ts';
import { CONCEPTS, KNOWLEDGE_ITEMS, QUESTIONS } from './demo-metrics.ts';

/**
 * Makes the demo's concepts, metrics, dimensions and verified questions; what an interrupted start made stays. The requests
 * are those of the demo's service account, so that they do not count against the first user's limit.
 */
export async function makeKnowledge({ base_url: baseUrl, service_account }: Demo, retryCount: number): Promise<void> {
  const api = createClient({ baseUrl, credential: withKey(service_account), retries: retryCount });
  const concepts = await readIdsByName(api, '/api/v1/domain-knowledge/concepts');
  for (const [name, [description, ...aliases]] of Object.entries(CONCEPTS)) {
    if (concepts.has(name)) continue;
    const body = { name, description, aliases, status: 'active' as const };
    concepts.set(name, (await api.post('/api/v1/domain-knowledge/concepts', { body }))._id);
  }
  const items = await readIdsByName(api, '/api/v1/domain-knowledge/semantic');
  for (const { concept, ...item } of KNOWLEDGE_ITEMS) {
    if (items.has(item.name)) continue;
    const body = { ...item, status: 'active' as const, source_concept_ids: [concepts.get(concept) as string] };
    await api.post('/api/v1/domain-knowledge/semantic', { body });
  }
  const { records } = await api.get('/api/v1/domain-knowledge/verified-questions', { query: { per_page: 100 } });
  const existingQuestions = new Set(records.map(({ question }) => question));
  for (const body of QUESTIONS) {
    if (!existingQuestions.has(body.question)) await api.post('/api/v1/domain-knowledge/verified-questions', { body });
  }
}

/** Reads the ids of existing records by name. */
async function readIdsByName(
  api: Client,
  path: '/api/v1/domain-knowledge/concepts' | '/api/v1/domain-knowledge/semantic',
): Promise<Map<string, string>> {
  const { records } = await api.get(path, { query: { per_page: 100 } });
  return new Map(records.map(({ _id, name }) => [name, _id]));
}
