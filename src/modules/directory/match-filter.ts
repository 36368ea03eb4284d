import { toComparedText } from '../../kernel/text.ts';
import { invalidFilter } from './failures.ts';
import type { Comparison, Filter, Value } from './grammar.ts';

/** An element of a multi-valued attribute, by the names of its sub-attributes. */
type Element = Readonly<Record<string, Value>>;

/** Tells whether an element matches the filter of a value path, ignoring the case of texts. @throws invalidFilter */
export function matchesFilter(filter: Filter, element: Element): boolean {
  switch (filter.op) {
    case 'and':
      return filter.filters.every((operand) => matchesFilter(operand, element));
    case 'or':
      return filter.filters.some((operand) => matchesFilter(operand, element));
    case 'not':
      return !matchesFilter(filter.filter, element);
    case 'has':
      throw invalidFilter('has a value path within another');
    case 'pr':
      return !['', null].includes(getPart(element, filter.path.name) as string | null);
    default:
      return compareValues(getPart(element, filter.path.name), filter.op, toLowerText(filter.value));
  }
}

const getPart = (element: Element, name: string): Value =>
  toLowerText(Object.entries(element).find(([part]) => part.toLowerCase() === name.toLowerCase())?.[1] ?? null);

const toLowerText = (value: Value): Value => (typeof value === 'string' ? toComparedText(value) : value);

const TEXT_COMPARISONS: Record<Exclude<Comparison, 'eq' | 'ne'>, (text: string, filterText: string) => boolean> = {
  co: (text, filterText) => text.includes(filterText),
  sw: (text, filterText) => text.startsWith(filterText),
  ew: (text, filterText) => text.endsWith(filterText),
  gt: (text, filterText) => text > filterText,
  ge: (text, filterText) => text >= filterText,
  lt: (text, filterText) => text < filterText,
  le: (text, filterText) => text <= filterText,
};

function compareValues(elementValue: Value, op: Comparison, filterValue: Value): boolean {
  if (op === 'eq') return elementValue === filterValue;
  if (op === 'ne') return elementValue !== filterValue;
  return (
    typeof elementValue === 'string' &&
    typeof filterValue === 'string' &&
    TEXT_COMPARISONS[op](elementValue, filterValue)
  );
}
