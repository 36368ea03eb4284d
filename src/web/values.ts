import type { ViewFilter } from '../presentation/viewing.ts';
import { type DateRange, isBackwardsRange } from './filters/dates.ts';

/** Filter values by slug, in the API's format. */
export type ParameterValues = Record<string, unknown>;

/** Returns true if a value is empty: absent, null, `""`, `[]` or a range without ends. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}

/** Returns the initial value of every filter: from the address, else its default. */
export function readInitialValues(filters: readonly ViewFilter[], query: URLSearchParams): ParameterValues {
  const getInitialValue = (filter: ViewFilter) => {
    const addressValue = readFromQuery(filter, query);
    return addressValue === undefined ? (filter.default ?? null) : addressValue;
  };
  return Object.fromEntries(filters.map((filter) => [filter.slug, getInitialValue(filter)]));
}

/** Returns a filter's value in the address; undefined if there is none. */
function readFromQuery({ slug, kind }: ViewFilter, query: URLSearchParams): unknown {
  if (kind === 'date_range') {
    const [from, to] = [query.get(`${slug}.from`), query.get(`${slug}.to`)];
    return from === null && to === null ? undefined : toRange(from, to);
  }
  if (!query.has(slug)) return undefined;
  return kind === 'multi_select' ? query.getAll(slug).filter((value) => value !== '') : query.get(slug);
}

export function toRange(from: string | null, to: string | null): unknown {
  const range = { ...(from && { from }), ...(to && { to }) };
  return isEmpty(range) ? null : range;
}

/** Returns the values that differ from their defaults, for the page's address. An empty text stands for no value. */
export function toQuery(filters: readonly ViewFilter[], values: ParameterValues): URLSearchParams {
  const query = new URLSearchParams();
  for (const { slug, kind, default: initial } of filters) {
    const value = values[slug];
    if (areEqual(value, initial)) continue;
    if (kind === 'date_range') {
      const { from = '', to = '' } = (value ?? {}) as { from?: string; to?: string };
      query.set(`${slug}.from`, from);
      if (to !== '') query.set(`${slug}.to`, to);
    } else if (isEmpty(value)) query.set(slug, '');
    else for (const singleValue of Array.isArray(value) ? value : [value]) query.append(slug, String(singleValue));
  }
  return query;
}

/** Returns true if two values of a filter have the same meaning. */
export const areEqual = (a: unknown, b: unknown): boolean =>
  isEmpty(a) || isEmpty(b) ? isEmpty(a) && isEmpty(b) : JSON.stringify(a) === JSON.stringify(b);

/** Returns the parameters of a request. A default that the viewer removed is null; a filter without a value is left out. */
export function toParameters(filters: readonly ViewFilter[], values: ParameterValues): ParameterValues {
  return Object.fromEntries(
    filters.flatMap(({ slug, default: initial }) => {
      const value = values[slug];
      if (!isEmpty(value)) return [[slug, value]];
      return isEmpty(initial) ? [] : [[slug, null]];
    }),
  );
}

/** Lists the required filters without a value or default. */
export const listMissing = (filters: readonly ViewFilter[], values: ParameterValues): ViewFilter[] =>
  filters.filter(({ slug, required, default: initial }) => required && isEmpty(initial) && isEmpty(values[slug]));

/** Lists the date range filters whose value ends before it begins. */
export const listBackwardsRanges = (filters: readonly ViewFilter[], values: ParameterValues): ViewFilter[] =>
  filters.filter(({ slug, kind }) => kind === 'date_range' && isBackwardsRange((values[slug] ?? {}) as DateRange));
