import type { CompanyContext } from '../../../context.ts';
import { splitIntoParts } from '../../../kernel/parts.ts';
import { truncateText } from '../../../kernel/text.ts';
import { listTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Concept } from '../concepts/concept.ts';
import { toSearchText } from '../resources/definition.ts';
import { countResources, listUnarchivedResources, type Resource } from '../resources/reading.ts';

/** The maximum length of a section of a prompt in characters: all together fit the smallest context of today's models. */
const MAX_SECTION_LENGTH = 60_000;
const TABLES_PER_PAGE = 500;
/** The maximum number of columns in one line: a wider table has several lines, so that no line is as long as a batch. */
const COLUMNS_PER_LINE = 50;
/** The maximum number of concepts that are read, last changed first. */
const MAX_CONCEPTS = 5000;
const SHORT_DESCRIPTION_LENGTH = 200;

/** Joins as many lines as fit, from the first; further lines are not generated. */
export function joinLines(lines: Iterable<string>, limit = MAX_SECTION_LENGTH): string {
  const keptLines: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > limit) break;
    keptLines.push(line);
  }
  return keptLines.join('\n');
}

/** Joins all lines if they fit into one section; undefined otherwise, and further lines are not generated. */
function joinSection(lines: Iterable<string>): string | undefined {
  const keptLines: string[] = [];
  let length = 0;
  for (const line of lines) {
    keptLines.push(line);
    length += line.length + 1;
    if (length > MAX_SECTION_LENGTH && keptLines.length > 1) return undefined;
  }
  return keptLines.join('\n');
}

/** Joins lines to as few chunks of at most `limit` characters as possible. A longer line is a chunk of its own. */
export const chunkLines = (lines: string[], limit: number): string[] =>
  splitIntoParts(lines, limit, (line) => line.length + 1).map((chunk) => chunk.join('\n'));

/** Returns a line that describes a table to the model, or several lines for a wide table. */
function describeTable({ displayName, columns, rowCount }: ManagedTable): string[] {
  const table = `${displayName} (${rowCount} rows)`;
  const describedColumns = columns.map(
    ({ name, display_name, type }) => `${name} ${type} ${JSON.stringify(display_name)}`,
  );
  if (describedColumns.length <= COLUMNS_PER_LINE) return [`${table}: ${describedColumns.join(', ')}`];
  const lines: string[] = [];
  for (let start = 0; start < describedColumns.length; start += COLUMNS_PER_LINE) {
    const lineColumns = describedColumns.slice(start, start + COLUMNS_PER_LINE);
    lines.push(
      `${table}, columns ${start + 1} to ${start + lineColumns.length} of ${columns.length}: ${lineColumns.join(', ')}`,
    );
  }
  return lines;
}

/** Returns lines that describe the company's tables. @param limit characters after which no more tables are read */
export async function describeCatalogue(ctx: CompanyContext, limit: number): Promise<string[]> {
  const lines: string[] = [];
  let length = 0;
  for (let page = 1; ; page += 1) {
    const { total, records } = await listTables(ctx, { page, perPage: TABLES_PER_PAGE, search: '' });
    for (const line of records.flatMap(describeTable)) {
      lines.push(line);
      length += line.length;
    }
    if (page * TABLES_PER_PAGE >= total || length > limit) return lines;
  }
}

export const readCatalogueText = async (ctx: CompanyContext): Promise<string> =>
  joinLines(await describeCatalogue(ctx, MAX_SECTION_LENGTH));

/** Describes a concept briefly: enough to tell whether something else means the same. */
const describeConcept = ({ id, content, status }: Resource<Concept>): string =>
  JSON.stringify({
    id,
    status,
    name: content.name,
    type: content.type,
    description: truncateText(content.description, SHORT_DESCRIPTION_LENGTH),
    aliases: content.aliases,
  });

/** The concepts in a section of a prompt, and the number of concepts that did not fit. */
interface ConceptsText {
  text: string;
  /** The concepts that were read: the first 5,000 if there are more. */
  concepts: Resource<Concept>[];
  omittedCount: number;
}

/**
 * Returns the company's concepts, and the text that describes them. Where they do not fit with their descriptions, it contains
 * ids and names only; where these do not fit either, only those of the concepts most relevant to `about`.
 */
export async function describeConcepts(ctx: CompanyContext, about: string): Promise<ConceptsText> {
  const [total, read] = await Promise.all([
    countResources(ctx, 'concept'),
    listUnarchivedResources(ctx, { type: 'concept', mentionedIn: about, limit: MAX_CONCEPTS }),
  ]);
  const concepts = read as Resource<Concept>[];
  const fullText = joinSection(concepts.values().map(describeConcept));
  if (fullText !== undefined) return { text: fullText, concepts, omittedCount: total - concepts.length };
  const relevantConcepts = sortByRelevance(concepts, about).values();
  const text = joinLines(relevantConcepts.map(({ id, content }) => JSON.stringify({ id, name: content.name })));
  return { text, concepts, omittedCount: total - text.split('\n').length };
}

/** Sorts concepts by their relevance to a text: first concepts that it names, then those that share most words with it. */
function sortByRelevance(concepts: readonly Resource<Concept>[], about: string): Resource<Concept>[] {
  const text = toSearchText(about);
  const knownWords = splitWords(about);
  const countCommonWords = (texts: readonly string[]) =>
    [...new Set(texts.flatMap((comparedText) => [...splitWords(comparedText)]))].filter((word) => knownWords.has(word))
      .length;
  const scoredConcepts = concepts.map((concept) => {
    const { name, aliases, tags, description } = concept.content;
    const isNamed = [name, ...aliases].some((conceptName) => text.includes(toSearchText(conceptName)));
    // A word of a name says more than any number of a description's.
    const score = countCommonWords([name, ...aliases, ...tags]) + Math.min(0.9, countCommonWords([description]) / 100);
    return { concept, score: isNamed ? score + MAX_SECTION_LENGTH : score };
  });
  return scoredConcepts.toSorted((a, b) => b.score - a.score).map(({ concept }) => concept);
}

/** Returns the words of a text, except the shortest, which occur in every text. */
const splitWords = (text: string): Set<string> =>
  new Set(
    toSearchText(text)
      .split(/[^\p{L}\p{M}\p{N}]+/u)
      .filter((word) => word.length > 2),
  );

/** Returns all concepts of type `entity_hint`. */
export const readEntityHints = async (ctx: CompanyContext): Promise<Resource<Concept>[]> =>
  (await listUnarchivedResources(ctx, {
    type: 'concept',
    facet: 'entity_hint',
    limit: MAX_CONCEPTS,
  })) as Resource<Concept>[];

/** Describes concepts in as many chunks as needed: in full if they fit into one chunk, else briefly. */
export function chunkConcepts(concepts: Resource<Concept>[]): string[] {
  const fullText = joinSection(concepts.values().map(describeResource));
  if (fullText === undefined) return chunkLines(concepts.map(describeConcept), MAX_SECTION_LENGTH);
  return fullText === '' ? [] : [fullText];
}

/** Returns the text that describes a resource to the model, without its author and times. */
export const describeResource = ({ id, content, status }: Resource): string =>
  truncateText(JSON.stringify({ id, status, ...content }), MAX_SECTION_LENGTH);
