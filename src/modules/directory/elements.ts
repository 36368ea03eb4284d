import { invalidFilter } from './failures.ts';
import type { Comparison, Filter, Value } from './grammar.ts';

/** An element of an attribute with several values, by the names of its parts. */
type Element = Readonly<Record<string, Value>>;

/** Whether an element matches the filter of a value path. The case of texts does not matter. @throws invalidFilter */
export function matchesFilter(filter: Filter, element: Element): boolean {
  switch (filter.op) {
    case 'and':
      return filter.of.every((each) => matchesFilter(each, element));
    case 'or':
      return filter.of.some((each) => matchesFilter(each, element));
    case 'not':
      return !matchesFilter(filter.of, element);
    case 'has':
      throw invalidFilter('has a value path within another');
    case 'pr':
      return !['', null].includes(getPart(element, filter.path.name) as string | null);
    default:
      return compare(getPart(element, filter.path.name), filter.op, toLowerText(filter.value));
  }
}

const getPart = (element: Element, name: string): Value =>
  toLowerText(Object.entries(element).find(([part]) => part.toLowerCase() === name.toLowerCase())?.[1] ?? null);

const toLowerText = (value: Value): Value => (typeof value === 'string' ? value.toLowerCase() : value);

function compare(own: Value, op: Comparison, wanted: Value): boolean {
  if (op === 'eq') return own === wanted;
  if (op === 'ne') return own !== wanted;
  if (typeof own !== 'string' || typeof wanted !== 'string') return false;
  switch (op) {
    case 'co':
      return own.includes(wanted);
    case 'sw':
      return own.startsWith(wanted);
    case 'ew':
      return own.endsWith(wanted);
    case 'gt':
      return own > wanted;
    case 'ge':
      return own >= wanted;
    case 'lt':
      return own < wanted;
    case 'le':
      return own <= wanted;
  }
}
