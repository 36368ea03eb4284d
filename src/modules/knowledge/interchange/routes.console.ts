import { z } from 'zod';
import { accessDenied } from '../../../access/failures.ts';
import { concurrentChange } from '../../../db/failures.ts';
import { TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { ok, prepared } from '../../../http/endpoint.ts';
import { queryFlag } from '../../../http/list-query.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { invalid } from '../../../kernel/failure.ts';
import { tenantSqlFailures } from '../../../tenant-sql/failures.ts';
import { knowledgeDocument, MAX_DOCUMENT_BYTES } from './document.ts';
import { exportKnowledge } from './export.ts';
import { exportTooLarge, importTooLarge, importUnreadable } from './failures.ts';
import { importKnowledge } from './import.ts';
import { semanticModelOf } from './ossie-export.ts';
import { readDocument } from './read.ts';

const PREFIX = '/api/v1/domain-knowledge';

const named = z.array(z.object({ target_type: z.enum(TARGET_TYPES), name: z.string() }));

/** A document that is no larger than an import takes. @throws exportTooLarge */
function file(text: string, type: string, name: string): Response {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_DOCUMENT_BYTES) throw exportTooLarge(MAX_DOCUMENT_BYTES);
  const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` };
  return new Response(bytes, { headers });
}

export const interchangeEndpoints = [
  endpoint(
    {
      method: 'get',
      path: `${PREFIX}/export`,
      access: { decidedBy: 'concepts:list, semantic:list and ontology:list' },
      operationId: 'exportKnowledge',
      summary: 'Export the knowledge',
      description:
        'All that is active, references by name, without ids and times: imported into an empty company and accepted, it is exported as the same document. `ossie` is a semantic model of Apache Ossie 0.2.0.dev0, without what cannot be computed; all else stands in its extension.',
      query: z.object({ format: z.enum(['json', 'ossie']).default('json') }),
      returns: prepared(knowledgeDocument, 'application/yaml'),
      fails: [exportTooLarge, accessDenied, ...tenantSqlFailures],
    },
    async ({ ctx, query: { format } }) => {
      const exported = await exportKnowledge(ctx);
      return format === 'json'
        ? file(`${JSON.stringify(exported.document, null, 2)}\n`, 'application/json', 'knowledge.json')
        : file(await semanticModelOf(ctx, exported), 'application/yaml', 'semantic-model.yaml');
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${PREFIX}/import`,
      access: 'knowledge_reviews:generate',
      operationId: 'importKnowledge',
      summary: 'Import knowledge',
      description:
        'Makes pending suggestions of what the company does not have, and changes nothing. The document is the body: JSON as the export answers it, YAML of Apache Ossie 0.2.0.dev0, or a glossary as CSV with the columns `name,description,type,aliases,tags`, lists split by `;`: at most 5 MiB and 5,000 things. What cannot be taken is told by its line; the rest is taken.',
      query: z.object({ dry_run: queryFlag.meta({ description: '`true`: only answers what would happen.' }) }),
      raw: { 'application/json': knowledgeDocument, 'application/yaml': z.string(), 'text/csv': z.string() },
      bodyLimit: MAX_DOCUMENT_BYTES,
      returns: ok(
        z.object({
          suggestions: named,
          skipped: named.meta({ description: 'The company has them already, or a pending suggestion of them.' }),
          errors: z.array(z.object({ line: z.int(), message: z.string() })),
        }),
      ),
      fails: [importTooLarge, importUnreadable, invalid, concurrentChange],
    },
    async ({ ctx, query, request }) => importKnowledge(ctx, await readDocument(request), query.dry_run),
  ),
];
