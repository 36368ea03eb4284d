import type { BoundValue, BoundValues, ParameterKind } from './parameters.ts';
import { type ParameterPart, type Place, type Placeholder, type SqlTemplate, TemplateError } from './template.ts';

/** SQL with `$1`, `$2`, … and their values: texts, PostgreSQL's array literals, or null. */
export interface CompiledSql {
  text: string;
  values: (string | null)[];
}

/** The type a value is bound with. */
const SQL_TYPES: Record<ParameterKind, string> = {
  text: 'text',
  select: 'text',
  multi_select: 'text[]',
  number: 'numeric',
  date: 'date',
  date_range: 'date',
};

/**
 * The statement for these values. A value never becomes part of the text: each is bound as `$n`, with the type of its parameter's
 * kind. A parameter without a value is null, and drops the clauses it stands in.
 * @param kinds the kind of every parameter that the template uses
 * @throws TemplateError for a value that its place cannot take, such as several values where one is compared
 */
export function compileTemplate(
  template: SqlTemplate,
  kinds: ReadonlyMap<string, ParameterKind>,
  values: BoundValues,
): CompiledSql {
  const { stretches, values: bound } = compile(template, kinds, values);
  return { text: stretches.map(({ text }) => text).join(''), values: bound };
}

/**
 * Returns the place in the template of a place in the statement, as indexes of strings. The text for a parameter is placed at the
 * start of its braces, and the end of the statement at the end of its last part in the template.
 */
export function placeInTemplate(
  template: SqlTemplate,
  kinds: ReadonlyMap<string, ParameterKind>,
  values: BoundValues,
  index: number,
): number {
  let left = index;
  let end = 0;
  for (const { text, start, isVerbatim } of compile(template, kinds, values).stretches) {
    if (left < text.length) return isVerbatim ? start + left : start;
    left -= text.length;
    end = isVerbatim ? start + text.length : start;
  }
  return end;
}

/** A part of a statement, and the place of its origin in the template; the same text, or the text for a parameter. */
interface StatementPart {
  text: string;
  start: number;
  isVerbatim: boolean;
}

function compile(template: SqlTemplate, kinds: ReadonlyMap<string, ParameterKind>, values: BoundValues) {
  const dropped = droppedClauses(template, values);
  const bound: (string | null)[] = [];
  const numbers = new Map<string, number>();
  const stretches: StatementPart[] = [];
  let clause: number | null = null;
  for (const piece of template.pieces) {
    const { start } = piece;
    // Where a clause begins, ends or is missing, what stands around it must not grow together.
    if (piece.place.clause !== clause) stretches.push({ text: ' ', start, isVerbatim: false });
    clause = piece.place.clause;
    if (!isKept(piece.place, dropped)) continue;
    if (piece.type === 'sql') {
      stretches.push({ text: piece.text, start, isVerbatim: true });
      continue;
    }
    const { slug, part } = piece.placeholder;
    const kind = kinds.get(slug);
    if (kind === undefined) throw new TemplateError(`{{${slug}}} is not a parameter`, start);
    const list = kind === 'multi_select' || (kind === 'select' && piece.placeholder.list);
    const key = `${slug}.${part}.${list}`;
    const number = numbers.get(key) ?? bound.push(valueAt(piece, values.get(slug) ?? null, list));
    numbers.set(key, number);
    const text = ` ($${number}::${list ? 'text[]' : SQL_TYPES[kind]}) `;
    stretches.push({ text, start, isVerbatim: false });
  }
  return { stretches, values: bound };
}

/** The slugs that the statement for these values uses: without those that stand in dropped clauses alone. */
export function usedSlugs(template: SqlTemplate, values: BoundValues): ReadonlySet<string> {
  const dropped = droppedClauses(template, values);
  const kept = template.placeholders.filter(({ place }) => isKept(place, dropped));
  return new Set(kept.map(({ slug }) => slug));
}

function droppedClauses(template: SqlTemplate, values: BoundValues): ReadonlySet<number> {
  const lacking = template.placeholders.filter(({ slug, part }) => !hasValue(values.get(slug) ?? null, part));
  return new Set(lacking.flatMap(({ place }) => place.clause ?? []));
}

const isKept = ({ clause, unless }: Place, dropped: ReadonlySet<number>): boolean =>
  (clause === null || !dropped.has(clause)) && unless.every((index) => dropped.has(index));

/** Whether there is something to bind. A list without elements is a value: it means that nothing is allowed. */
function hasValue(value: BoundValue, part: ParameterPart): boolean {
  if (value === null) return false;
  return value.type !== 'range' || part === 'value' || value[part] !== null;
}

function valueAt(
  { placeholder: { slug, part }, start }: { placeholder: Placeholder; start: number },
  value: BoundValue,
  list: boolean,
): string | null {
  if (value === null) return null;
  if (value.type === 'range') {
    if (part === 'value') throw new TemplateError(`{{${slug}}} is a date range: use {{${slug}.from}}`, start);
    return value[part];
  }
  if (part !== 'value') throw new TemplateError(`{{${slug}.${part}}} is no date range`, start);
  if (list) return arrayLiteral(value.type === 'list' ? value.values : [value.value]);
  if (value.type !== 'list') return value.value;
  if (value.values.length > 1) {
    throw new TemplateError(`{{${slug}}} has several values here: compare it with = ANY({{${slug}}})`, start);
  }
  return value.values[0] ?? null;
}

/** PostgreSQL's text form of a text[]. */
export const arrayLiteral = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
