import { decodeWhole } from '../../../formats/text/detect.ts';
import { invalid } from '../../../kernel/failure.ts';
import { readBounded } from '../../../platform/bounded.ts';
import { importTooLarge, importUnreadable } from './failures.ts';
import { isSemanticModel, readSemanticModel } from './ossie-import.ts';
import { readGlossary } from './read-csv.ts';
import { readJson } from './read-json.ts';
import { type ReadDocument, readKnowledge } from './read-knowledge.ts';
import { readYaml } from './read-yaml.ts';

/** Most bytes by media type: YAML takes many times the work. */
const LIMITS: Record<string, number> = {
  'application/json': 5 * 1024 * 1024,
  'application/yaml': 1024 * 1024,
  'application/x-yaml': 1024 * 1024,
  'text/yaml': 1024 * 1024,
  'text/x-yaml': 1024 * 1024,
  'text/csv': 1024 * 1024,
};

export const MEDIA_TYPES = ['application/json', 'application/yaml', 'text/csv'] as const;
export const LARGEST_IMPORT = Math.max(...Object.values(LIMITS));

/** Reads the body of an import in the format that its `Content-Type` says. */
export async function readDocument(request: Request): Promise<ReadDocument> {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const limit = Object.hasOwn(LIMITS, type) ? LIMITS[type] : undefined;
  if (limit === undefined) throw invalid([{ field: 'Content-Type', message: `must be ${MEDIA_TYPES.join(' or ')}` }]);
  if (Number(request.headers.get('content-length')) > limit) throw importTooLarge(limit);
  const bytes = await readBounded(request.body, limit);
  if (bytes === null) throw importTooLarge(limit);
  const text = decodeWhole(bytes);
  if (text.trim() === '') throw importUnreadable('it is empty');
  if (type === 'text/csv') return readGlossary(text);
  const located = type === 'application/json' ? readJson(text) : readYaml(text);
  return isSemanticModel(located.value) ? readSemanticModel(located) : readKnowledge(located);
}
