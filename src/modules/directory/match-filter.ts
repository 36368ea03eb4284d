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

function compareValues(elementValue: Value, op: Comparison, filterValue: Value): boolean {
  if (op === 'eq') return elementValue === filterValue;
  if (op === 'ne') return elementValue !== filterValue;
  if (typeof elementValue !== 'string' || typeof filterValue !== 'string') return false;
  switch (op) {
    case 'co':
      return elementValue.includes(filterValue);
    case 'sw':
      return elementValue.startsWith(filterValue);
    case 'ew':
      return elementValue.endsWith(filterValue);
    case 'gt':
      return elementValue > filterValue;
    case 'ge':
      return elementValue >= filterValue;
    case 'lt':
      return elementValue < filterValue;
    case 'le':
      return elementValue <= filterValue;
  }
}
