import type { CompanyContext } from '../../../context.ts';
import { cut } from '../../../kernel/text.ts';
import { listTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Concept } from '../concepts/service.ts';
import { findResources, livingResources, type Resource, searchable } from '../resources/service.ts';

/** Characters of each kind of material in one request: together they fit the smallest context of today's models. */
export const MAX_MATERIAL = 60_000;
/** Tables that are read at once. */
const TABLES_PER_PAGE = 500;
/** Columns that one line of the catalogue describes: so that no line is as long as a batch. */
const COLUMNS_PER_LINE = 50;
/** Concepts that are read at all; those changed last come first. */
const MAX_CONCEPTS = 5000;
const SHORT_DESCRIPTION = 200;

/** Lines as far as they fit. */
export function fitting(lines: string[], limit = MAX_MATERIAL): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > limit) break;
    kept.push(line);
  }
  return kept.join('\n');
}

/** Lines in as few pieces as they fit into; only a line that is longer by itself makes a longer piece. */
export function packed(lines: string[], limit: number): string[] {
  const pieces: string[][] = [];
  let left = 0;
  for (const line of lines) {
    const length = line.length + 1;
    if (length > left) {
      pieces.push([]);
      left = limit;
    }
    pieces.at(-1)?.push(line);
    left -= length;
  }
  return pieces.map((piece) => piece.join('\n'));
}

/** A table as models read it: a line, or several where it is wide. */
function linesOf({ displayName, columns, rowCount }: ManagedTable): string[] {
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
 * The company's catalogue, a line or more for each table; empty where there is none.
 * @param limit characters after which no more tables are read
 */
export async function catalogueLines(ctx: CompanyContext, limit: number): Promise<string[]> {
  const lines: string[] = [];
  let length = 0;
  for (let page = 1; ; page += 1) {
    const { total, records } = await listTables(ctx, { page, perPage: TABLES_PER_PAGE, search: '' });
    for (const line of records.flatMap(linesOf)) {
      lines.push(line);
      length += line.length;
    }
    if (page * TABLES_PER_PAGE >= total || length > limit) return lines;
  }
}

/** The catalogue as far as it fits into one request. */
export const catalogueText = async (ctx: CompanyContext): Promise<string> =>
  fitting(await catalogueLines(ctx, MAX_MATERIAL));

/** A concept in short: enough to tell whether something else means the same. */
const conceptLine = ({ id, content, status }: Resource<Concept>): string =>
  JSON.stringify({
    id,
    status,
    name: content.name,
    type: content.type,
    description: cut(content.description, SHORT_DESCRIPTION),
    aliases: content.aliases,
  });

/**
 * Every concept that is active or a draft, with its id. As many as fit, first with their descriptions, then without, those
 * that a text speaks of before all others.
 * @param about the text that they are to be compared with
 */
export async function conceptsText(
  ctx: CompanyContext,
  about: string,
): Promise<{ text: string; concepts: Resource<Concept>[] }> {
  const concepts = (await livingResources(ctx, { type: 'concept', limit: MAX_CONCEPTS })) as Resource<Concept>[];
  const pieces = packed(concepts.map(conceptLine), MAX_MATERIAL);
  if (pieces.length <= 1) return { text: pieces.join(), concepts };
  const spoken = searchable(about);
  const isMeant = ({ content }: Resource<Concept>) =>
    [content.name, ...content.aliases].some((name) => spoken.includes(searchable(name)));
  const ordered = [...concepts.filter(isMeant), ...concepts.filter((concept) => !isMeant(concept))];
  return { text: fitting(ordered.map(({ id, content }) => JSON.stringify({ id, name: content.name }))), concepts };
}

/** Every concept that hints at an entity. */
export const entityHints = async (ctx: CompanyContext): Promise<Resource<Concept>[]> =>
  (await livingResources(ctx, { type: 'concept', facet: 'entity_hint', limit: MAX_CONCEPTS })) as Resource<Concept>[];

/** Concepts in as many pieces as they need, whole where they fit into one, else in short. */
export function conceptPieces(concepts: Resource<Concept>[]): string[] {
  const whole = packed(concepts.map(resourceText), MAX_MATERIAL);
  return whole.length <= 1 ? whole : packed(concepts.map(conceptLine), MAX_MATERIAL);
}

/** A resource as models read it, without what is none of their business. */
export const resourceText = ({ id, content, status }: Resource): string =>
  cut(JSON.stringify({ id, status, ...content }), MAX_MATERIAL);

/** Resources of these ids as models read them. */
export const resourcesText = async (ctx: CompanyContext, ids: string[]): Promise<string> =>
  fitting((await findResources(ctx, ids)).map(resourceText));
