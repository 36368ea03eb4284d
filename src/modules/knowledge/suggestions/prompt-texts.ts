import type { CompanyContext } from '../../../context.ts';
import { splitIntoParts } from '../../../kernel/parts.ts';
import { cut } from '../../../kernel/text.ts';
import { listTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Concept } from '../concepts/concept.ts';
import {
  countResources,
  findResources,
  type Resource,
  toSearchText,
  unarchivedResources,
} from '../resources/service.ts';

/**
 * The maximum number of characters of one section of a prompt: all sections together fit the smallest context of today's
 * models.
 */
const MAX_SECTION_LENGTH = 60_000;
const TABLES_PER_PAGE = 500;
/**
 * The maximum number of columns in one line: a table of more is described in several lines, so that no line is as long as a
 * batch.
 */
const COLUMNS_PER_LINE = 50;
/** The maximum number of concepts that are read, last changed first. */
const MAX_CONCEPTS = 5000;
const SHORT_DESCRIPTION_LENGTH = 200;

/** Joins as many of the lines as fit, from the first; the rest of them is not made. */
export function joinLines(lines: Iterable<string>, limit = MAX_SECTION_LENGTH): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > limit) break;
    kept.push(line);
  }
  return kept.join('\n');
}

/** Joins all lines, where they fit into one section; undefined where they do not, and the rest of them is not made. */
function joinSection(lines: Iterable<string>): string | undefined {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    kept.push(line);
    length += line.length + 1;
    if (length > MAX_SECTION_LENGTH && kept.length > 1) return undefined;
  }
  return kept.join('\n');
}

/** Joins lines to as few chunks of at most `limit` characters as possible. A longer line is a chunk of its own. */
export const chunkLines = (lines: string[], limit: number): string[] =>
  splitIntoParts(lines, limit, (line) => line.length + 1).map((chunk) => chunk.join('\n'));

/** A line that describes a table to the model, or several for a wide one. */
function describeTable({ displayName, columns, rowCount }: ManagedTable): string[] {
  const table = `${displayName} (${rowCount} rows)`;
  const described = columns.map(({ name, display_name, type }) => `${name} ${type} ${JSON.stringify(display_name)}`);
  if (described.length <= COLUMNS_PER_LINE) return [`${table}: ${described.join(', ')}`];
  const lines: string[] = [];
  for (let start = 0; start < described.length; start += COLUMNS_PER_LINE) {
    const part = described.slice(start, start + COLUMNS_PER_LINE);
    lines.push(`${table}, columns ${start + 1} to ${start + part.length} of ${columns.length}: ${part.join(', ')}`);
  }
  return lines;
}

/**
 * Lines that describe the company's tables.
 * @param limit characters after which no more tables are read
 */
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

/** A concept in short: enough to tell whether something else means the same. */
const describeConcept = ({ id, content, status }: Resource<Concept>): string =>
  JSON.stringify({
    id,
    status,
    name: content.name,
    type: content.type,
    description: cut(content.description, SHORT_DESCRIPTION_LENGTH),
    aliases: content.aliases,
  });

/** The concepts in a section of a prompt, and the number of those that did not fit. */
interface ConceptsText {
  text: string;
  /** The concepts that were read: the first 5,000 of more. */
  concepts: Resource<Concept>[];
  notSent: number;
}

/**
 * The company's concepts, and the text that describes them. Where they do not fit with their descriptions, it holds ids and
 * names only; where these do not fit either, those of the concepts most relevant to `about`.
 */
export async function describeConcepts(ctx: CompanyContext, about: string): Promise<ConceptsText> {
  const [total, read] = await Promise.all([
    countResources(ctx, 'concept'),
    unarchivedResources(ctx, { type: 'concept', mentionedIn: about, limit: MAX_CONCEPTS }),
  ]);
  const concepts = read as Resource<Concept>[];
  const whole = joinSection(concepts.values().map(describeConcept));
  if (whole !== undefined) return { text: whole, concepts, notSent: total - concepts.length };
  const relevant = sortByRelevance(concepts, about).values();
  const text = joinLines(relevant.map(({ id, content }) => JSON.stringify({ id, name: content.name })));
  return { text, concepts, notSent: total - text.split('\n').length };
}

/** Sorts concepts by their relevance to a text: first those that it names, then those that share most words with it. */
function sortByRelevance(concepts: readonly Resource<Concept>[], about: string): Resource<Concept>[] {
  const text = toSearchText(about);
  const known = splitWords(about);
  const inCommon = (texts: readonly string[]) =>
    [...new Set(texts.flatMap((each) => [...splitWords(each)]))].filter((word) => known.has(word)).length;
  const scored = concepts.map((each) => {
    const { name, aliases, tags, description } = each.content;
    const isNamed = [name, ...aliases].some((called) => text.includes(toSearchText(called)));
    // A word of a name says more than any number of a description's.
    const score = inCommon([name, ...aliases, ...tags]) + Math.min(0.9, inCommon([description]) / 100);
    return { each, score: isNamed ? score + MAX_SECTION_LENGTH : score };
  });
  return scored.toSorted((a, b) => b.score - a.score).map(({ each }) => each);
}

/** The words of a text, but for the shortest, which stand in every text. */
const splitWords = (text: string): Set<string> =>
  new Set(
    toSearchText(text)
      .split(/[^\p{L}\p{M}\p{N}]+/u)
      .filter((word) => word.length > 2),
  );

/** All concepts of type `entity_hint`. */
export const readEntityHints = async (ctx: CompanyContext): Promise<Resource<Concept>[]> =>
  (await unarchivedResources(ctx, {
    type: 'concept',
    facet: 'entity_hint',
    limit: MAX_CONCEPTS,
  })) as Resource<Concept>[];

/** Concepts in as many chunks as they need: whole if they fit into one, else in short. */
export function chunkConcepts(concepts: Resource<Concept>[]): string[] {
  const whole = joinSection(concepts.values().map(describeResource));
  if (whole === undefined) return chunkLines(concepts.map(describeConcept), MAX_SECTION_LENGTH);
  return whole === '' ? [] : [whole];
}

/** The text that describes a resource to the model, without who made it and when. */
export const describeResource = ({ id, content, status }: Resource): string =>
  cut(JSON.stringify({ id, status, ...content }), MAX_SECTION_LENGTH);

export const describeResources = async (ctx: CompanyContext, ids: string[]): Promise<string> =>
  joinLines((await findResources(ctx, ids)).values().map(describeResource));
