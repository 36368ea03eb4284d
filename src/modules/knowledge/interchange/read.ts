import { decodeWhole } from '../../../formats/text/detect.ts';
import { invalidInput } from '../../../kernel/failure.ts';
import type { SentBody } from '../../../kernel/files.ts';
import { readBounded } from '../../../platform/bounded.ts';
import { MAX_DOCUMENT_BYTES } from './document.ts';
import { importTooLarge, importUnreadable } from './failures.ts';
import { isSemanticModel, readSemanticModel } from './ossie-import.ts';
import { readGlossary } from './read-csv.ts';
import { readJson } from './read-json.ts';
import { type LocatedValue, type ParsedDocument, readKnowledge } from './read-knowledge.ts';
import { readYaml } from './read-yaml.ts';

const readLocatedDocument = (locatedValue: LocatedValue): ParsedDocument =>
  isSemanticModel(locatedValue.value) ? readSemanticModel(locatedValue) : readKnowledge(locatedValue);
const readJsonDocument = (text: string) => readLocatedDocument(readJson(text));
const readYamlDocument = (text: string) => readLocatedDocument(readYaml(text));

const DOCUMENT_READERS = new Map<string, (text: string) => ParsedDocument>([
  ['application/json', readJsonDocument],
  ['application/yaml', readYamlDocument],
  ['application/x-yaml', readYamlDocument],
  ['text/yaml', readYamlDocument],
  ['text/x-yaml', readYamlDocument],
  ['text/csv', readGlossary],
]);

/** Reads the body of an import in the format that its `Content-Type` names. */
export async function readDocument({
  stream,
  mediaType: contentType,
  byteCount: length,
}: SentBody): Promise<ParsedDocument> {
  const type = (contentType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const readText = DOCUMENT_READERS.get(type);
  if (!readText)
    throw invalidInput([{ field: 'Content-Type', message: 'must be application/json, application/yaml or text/csv' }]);
  if ((length ?? 0) > MAX_DOCUMENT_BYTES) throw importTooLarge(MAX_DOCUMENT_BYTES);
  const bytes = await readBounded(stream, MAX_DOCUMENT_BYTES, { leavesRest: true });
  if (bytes === null) throw importTooLarge(MAX_DOCUMENT_BYTES);
  const text = decodeWhole(bytes);
  if (text.trim() === '') throw importUnreadable('it is empty');
  return readText(text);
}
