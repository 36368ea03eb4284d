import type { CompanyContext } from '../../../context.ts';
import { listTables, type ManagedTable } from '../../managed-tables/service.ts';
import type { Concept } from '../concepts/service.ts';
import { findResources, livingResources, type Resource } from '../resources/service.ts';

/** Characters of each kind of material in one request: together they fit the smallest context of today's models. */
export const MAX_MATERIAL = 60_000;
/** Tables that are described at all, and columns of each. */
const MAX_TABLES = 1000;
const MAX_COLUMNS = 300;
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

/** A table as models read it: one line. */
const lineOf = ({ displayName, columns, rowCount }: ManagedTable): string => {
  const shown = columns
    .slice(0, MAX_COLUMNS)
    .map(({ name, display_name, type }) => `${name} ${type} "${display_name}"`);
  const left = columns.length - shown.length;
  return `${displayName} (${rowCount} rows): ${shown.join(', ')}${left > 0 ? `, and ${left} more columns` : ''}`;
};

/** The company's catalogue, a line a table; empty where there is none. */
export async function catalogueLines(ctx: CompanyContext): Promise<string[]> {
  const { records } = await listTables(ctx, { page: 1, perPage: MAX_TABLES, search: '' });
  return records.map(lineOf);
}

/** Every concept that is active or a draft, with its id. As many as fit, first with their descriptions, then without. */
export async function conceptsText(ctx: CompanyContext): Promise<{ text: string; concepts: Resource<Concept>[] }> {
  const concepts = (await livingResources(ctx, { type: 'concept', limit: MAX_CONCEPTS })) as Resource<Concept>[];
  const long = concepts.map(({ id, content, status }) =>
    JSON.stringify({
      id,
      status,
      name: content.name,
      type: content.type,
      description: content.description.slice(0, SHORT_DESCRIPTION),
      aliases: content.aliases,
    }),
  );
  const short = concepts.map(({ id, content }) => JSON.stringify({ id, name: content.name }));
  const fits = long.reduce((sum, line) => sum + line.length + 1, 0) <= MAX_MATERIAL;
  return { text: fitting(fits ? long : short), concepts };
}

/** A resource as models read it, without what is none of their business. */
export const resourceText = ({ id, content, status }: Resource): string =>
  JSON.stringify({ id, status, ...content }).slice(0, MAX_MATERIAL);

/** Resources of these ids as models read them. */
export const resourcesText = async (ctx: CompanyContext, ids: string[]): Promise<string> =>
  fitting((await findResources(ctx, ids)).map(resourceText));
