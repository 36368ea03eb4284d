import { z } from 'zod';
import { accessDenied } from '../../../access/failures.ts';
import { concurrentChange } from '../../../db/failures.ts';
import { TARGET_TYPES } from '../../../db/schema/knowledge-suggestions.ts';
import { ok, prepared } from '../../../http/endpoint.ts';
import { queryFlag } from '../../../http/list-query.ts';
import { toSentBody } from '../../../http/sent-body.ts';
import { endpoint } from '../../../http/surfaces/knowledge.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import { tenantSqlFailures } from '../../../tenant-sql/failures.ts';
import { knowledgeDocument, MAX_DOCUMENT_BYTES } from './document.ts';
import { exportKnowledge, requireMayExport } from './export.ts';
import { exportTooLarge, importTooLarge, importUnreadable } from './failures.ts';
import { importKnowledge } from './import.ts';
import { buildSemanticModel } from './ossie-export.ts';
import { readDocument } from './read.ts';

const KNOWLEDGE_PATH = '/api/v1/domain-knowledge';

const targetNames = z.array(z.object({ target_type: z.enum(TARGET_TYPES), name: z.string() }));

/** Builds a response with a document, if it is no larger than an import accepts. @throws exportTooLarge */
function buildFileResponse(text: string, type: string, name: string): Response {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_DOCUMENT_BYTES) throw exportTooLarge(MAX_DOCUMENT_BYTES);
  const headers = { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` };
  return new Response(bytes, { headers });
}

export const interchangeEndpoints = [
  endpoint(
    {
      method: 'get',
      path: `${KNOWLEDGE_PATH}/export`,
      access: { decidedBy: 'concepts:list, semantic:list and ontology:list' },
      checkPath: requireMayExport,
      operationId: 'exportKnowledge',
      summary: 'Export knowledge',
      description:
        'All active concepts, semantic items, nodes and relations, with references by name and without ids and times. Imported into an empty company and accepted, they are exported as the same document. `ossie` is a semantic model of Apache Ossie 0.2.0.dev0; what it cannot express is in its extension, and so are fields, relationships and metrics of tables that the company does not have (yet).',
      query: z.object({ format: z.enum(['json', 'ossie']).default('json') }),
      returns: prepared(knowledgeDocument, 'application/yaml'),
      fails: [exportTooLarge, accessDenied, ...tenantSqlFailures],
    },
    async ({ ctx, query: { format } }) => {
      const knowledgeExport = await exportKnowledge(ctx);
      return format === 'json'
        ? buildFileResponse(
            `${JSON.stringify(knowledgeExport.document, null, 2)}\n`,
            'application/json',
            'knowledge.json',
          )
        : buildFileResponse(await buildSemanticModel(ctx, knowledgeExport), 'application/yaml', 'semantic-model.yaml');
    },
  ),
  endpoint(
    {
      method: 'post',
      path: `${KNOWLEDGE_PATH}/import`,
      access: 'knowledge_reviews:generate',
      operationId: 'importKnowledge',
      summary: 'Import knowledge',
      description:
        'Creates a pending suggestion for each entry that the company does not have; nothing else changes. The body is the document: JSON from the export, YAML of Apache Ossie 0.2.0.dev0, or a glossary as CSV with the columns `name,description,type,aliases,tags`, lists separated by `;`. At most 5 MiB and 5,000 entries. Entries that cannot be imported are listed in `errors` with their line; the others are imported.',
      query: z.object({
        dry_run: queryFlag.meta({ description: '`true`: changes nothing and returns what would happen.' }),
      }),
      raw: { 'application/json': knowledgeDocument, 'application/yaml': z.string(), 'text/csv': z.string() },
      bodyLimit: MAX_DOCUMENT_BYTES,
      returns: ok(
        z.object({
          suggestions: targetNames,
          skipped: targetNames.meta({
            description: 'Entries that the company has already, or has a pending suggestion for.',
          }),
          errors: z.array(z.object({ line: z.int(), message: z.string() })),
        }),
      ),
      fails: [importTooLarge, importUnreadable, invalidInput, concurrentChange],
    },
    async ({ ctx, query, request }) => importKnowledge(ctx, await readDocument(toSentBody(request)), query.dry_run),
  ),
];
