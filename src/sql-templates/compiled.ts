import type { BoundValue, BoundValues, ParameterKind } from './parameters.ts';
import { type ParameterPart, type Place, type SqlTemplate, TemplateError } from './template.ts';

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
 * The statement for these values. A value never becomes part of the text: each is bound as `$n`, with the type of its
 * parameter's kind. What has no value is null, and drops the clauses it stands in.
 * @param kinds the kind of every parameter that the template uses
 * @throws TemplateError for a value that its place cannot take, such as several values where one is compared
 */
export function compileTemplate(
  template: SqlTemplate,
  kinds: ReadonlyMap<string, ParameterKind>,
  values: BoundValues,
): CompiledSql {
  const dropped = droppedClauses(template, values);
  const bound: (string | null)[] = [];
  const numbers = new Map<string, number>();
  let text = '';
  let clause: number | null = null;
  for (const piece of template.pieces) {
    // Where a clause begins, ends or is missing, what stands around it must not grow together.
    if (piece.place.clause !== clause) text += ' ';
    clause = piece.place.clause;
    if (!isKept(piece.place, dropped)) continue;
    if (piece.type === 'sql') {
      text += piece.text;
      continue;
    }
    const { slug, part } = piece.placeholder;
    const kind = kinds.get(slug);
    if (kind === undefined) throw new TemplateError(`{{${slug}}} is not a parameter`, 0);
    const list = kind === 'multi_select' || (kind === 'select' && piece.placeholder.list);
    const key = `${slug}.${part}.${list}`;
    const number = numbers.get(key) ?? bound.push(valueAt(slug, values.get(slug) ?? null, part, list));
    numbers.set(key, number);
    text += ` ($${number}::${list ? 'text[]' : SQL_TYPES[kind]}) `;
  }
  return { text, values: bound };
}

/** The slugs that the statement for these values uses: what stands in dropped clauses alone is not among them. */
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

function valueAt(slug: string, value: BoundValue, part: ParameterPart, list: boolean): string | null {
  if (value === null) return null;
  if (value.type === 'range') {
    if (part === 'value') throw new TemplateError(`{{${slug}}} is a date range: use {{${slug}.from}}`, 0);
    return value[part];
  }
  if (part !== 'value') throw new TemplateError(`{{${slug}.${part}}} is no date range`, 0);
  if (list) return arrayLiteral(value.type === 'list' ? value.values : [value.value]);
  if (value.type !== 'list') return value.value;
  if (value.values.length > 1) {
    throw new TemplateError(`{{${slug}}} has several values here: compare it with = ANY({{${slug}}})`, 0);
  }
  return value.values[0] ?? null;
}

/** PostgreSQL's text form of a text[]. */
export function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;
}
