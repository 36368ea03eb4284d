import type { BoundValue, BoundValues, ParameterKind } from './parameters.ts';
import { type ClausePlace, type ParameterPart, type Placeholder, type SqlTemplate, TemplateError } from './template.ts';

/** An SQL statement with `$1`, `$2`, … and their values: texts, PostgreSQL's array literals, or null. */
export interface CompiledSql {
  text: string;
  values: (string | null)[];
}

/** The SQL type with which a value of each kind is bound. */
const SQL_TYPES: Record<ParameterKind, string> = {
  text: 'text',
  select: 'text',
  multi_select: 'text[]',
  number: 'numeric',
  date: 'date',
  date_range: 'date',
};

/**
 * Compiles a template to the statement for these values. A value never becomes part of the text: each is bound as `$n`, with the
 * type of its parameter's kind. A parameter without a value is null, and drops the clauses in which it stands. @param kinds the
 * kind of every parameter that the template uses @throws TemplateError for a value that its place cannot take, such as several
 * values where one is compared
 */
export function compileTemplate(
  template: SqlTemplate,
  kinds: ReadonlyMap<string, ParameterKind>,
  values: BoundValues,
): CompiledSql {
  const { stretches, values: boundValues } = compileParts(template, kinds, values);
  return { text: stretches.map(({ text }) => text).join(''), values: boundValues };
}

/**
 * Finds the index in the template that corresponds to an index in the statement (indexes of strings). The text for a parameter
 * maps to the start of its braces, and the end of the statement to the end of its last part in the template.
 */
export function findTemplateIndex(
  template: SqlTemplate,
  kinds: ReadonlyMap<string, ParameterKind>,
  values: BoundValues,
  index: number,
): number {
  let remainingLength = index;
  let end = 0;
  for (const { text, start, isVerbatim } of compileParts(template, kinds, values).stretches) {
    if (remainingLength < text.length) return isVerbatim ? start + remainingLength : start;
    remainingLength -= text.length;
    end = isVerbatim ? start + text.length : start;
  }
  return end;
}

/** A part of a statement with the index of its origin in the template: the template's own text, or the text for a parameter. */
interface StatementPart {
  text: string;
  start: number;
  isVerbatim: boolean;
}

function compileParts(template: SqlTemplate, kinds: ReadonlyMap<string, ParameterKind>, values: BoundValues) {
  const droppedIndexes = findDroppedClauses(template, values);
  const boundValues: (string | null)[] = [];
  const parameterNumbers = new Map<string, number>();
  const statementParts: StatementPart[] = [];
  let clauseIndex: number | null = null;
  for (const piece of template.pieces) {
    const { start } = piece;
    // Where a clause begins, ends or is missing, what stands around it must not grow together.
    if (piece.place.clauseIndex !== clauseIndex) statementParts.push({ text: ' ', start, isVerbatim: false });
    clauseIndex = piece.place.clauseIndex;
    if (!isPlaceKept(piece.place, droppedIndexes)) continue;
    if (piece.type === 'sql') {
      statementParts.push({ text: piece.text, start, isVerbatim: true });
      continue;
    }
    const { slug, part } = piece.placeholder;
    const kind = kinds.get(slug);
    if (kind === undefined) throw new TemplateError(`{{${slug}}} is not a parameter`, start);
    const isList = kind === 'multi_select' || (kind === 'select' && piece.placeholder.takesList);
    const key = `${slug}.${part}.${isList}`;
    const number = parameterNumbers.get(key) ?? boundValues.push(toBoundText(piece, values.get(slug) ?? null, isList));
    parameterNumbers.set(key, number);
    const text = ` ($${number}::${isList ? 'text[]' : SQL_TYPES[kind]}) `;
    statementParts.push({ text, start, isVerbatim: false });
  }
  return { stretches: statementParts, values: boundValues };
}

/** Lists the slugs that the statement for these values uses: without slugs that stand only in dropped clauses. */
export function listUsedSlugs(template: SqlTemplate, values: BoundValues): ReadonlySet<string> {
  const droppedIndexes = findDroppedClauses(template, values);
  const keptPlaceholders = template.placeholders.filter(({ place }) => isPlaceKept(place, droppedIndexes));
  return new Set(keptPlaceholders.map(({ slug }) => slug));
}

function findDroppedClauses(template: SqlTemplate, values: BoundValues): ReadonlySet<number> {
  const placeholdersWithoutValue = template.placeholders.filter(
    ({ slug, part }) => !hasValue(values.get(slug) ?? null, part),
  );
  return new Set(placeholdersWithoutValue.flatMap(({ place }) => place.clauseIndex ?? []));
}

const isPlaceKept = ({ clauseIndex, droppedClauses }: ClausePlace, droppedIndexes: ReadonlySet<number>): boolean =>
  (clauseIndex === null || !droppedIndexes.has(clauseIndex)) &&
  droppedClauses.every((index) => droppedIndexes.has(index));

/** Tells whether there is a value to bind. A list without elements is a value: it means that nothing is allowed. */
function hasValue(value: BoundValue, part: ParameterPart): boolean {
  if (value === null) return false;
  return value.type !== 'range' || part === 'value' || value[part] !== null;
}

function toBoundText(
  { placeholder: { slug, part }, start }: { placeholder: Placeholder; start: number },
  value: BoundValue,
  isList: boolean,
): string | null {
  if (value === null) return null;
  if (value.type === 'range') {
    if (part === 'value') throw new TemplateError(`{{${slug}}} is a date range: use {{${slug}.from}}`, start);
    return value[part];
  }
  if (part !== 'value') throw new TemplateError(`{{${slug}.${part}}} is no date range`, start);
  if (isList) return formatArrayLiteral(value.type === 'list' ? value.values : [value.value]);
  if (value.type !== 'list') return value.value;
  if (value.values.length > 1) {
    throw new TemplateError(`{{${slug}}} has several values here: compare it with = ANY({{${slug}}})`, start);
  }
  return value.values[0] ?? null;
}

/** Formats texts as PostgreSQL's literal of a text[]. */
export const formatArrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
