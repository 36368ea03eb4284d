import type { ApiResponse, Caller } from '../../support/api.ts';
import { expectSuccess } from '../../support/signed.ts';
import { KNOWLEDGE_PATH } from '../support.ts';

/** Imports a document of the given content type. */
export const importDocument = (
  as: Caller,
  type: string,
  body: string,
  query = '',
  env: Record<string, string> = {},
): Promise<ApiResponse> =>
  as.post(`${KNOWLEDGE_PATH}/import${query}`, { headers: { 'content-type': type }, body, env });

/** Returns the export unchanged, byte by byte. */
export async function exportKnowledge(as: Caller, format: 'json' | 'ossie' = 'json'): Promise<string> {
  const body = await expectSuccess(as.get(`${KNOWLEDGE_PATH}/export?format=${format}`));
  return format === 'json' ? `${JSON.stringify(body, null, 2)}\n` : body;
}

/** Accepts every pending suggestion, a page at a time, until none is left. @returns the suggestions that could not be accepted */
export async function acceptAllSuggestions(as: Caller): Promise<unknown[]> {
  for (;;) {
    const { records } = await expectSuccess(as.get(`${KNOWLEDGE_PATH}/suggestions?per_page=100`));
    if (records.length === 0) return [];
    const ids = records.map(({ _id }: { _id: string }) => _id);
    const { accepted, failed } = await expectSuccess(
      as.post(`${KNOWLEDGE_PATH}/suggestions/bulk-accept`, { json: { ids } }),
    );
    if (accepted.length === 0) return failed;
  }
}
