import { shorten } from '../../../kernel/text.ts';
import { END_OF_DAY } from '../../../tenant-sql/row-filters.ts';
import type { PreparedQuery } from '../metrics/prepare.ts';

type Filter = PreparedQuery['query']['filters'][number];

/** The maximum number of values of a filter that are written out. */
const MAX_WRITTEN_VALUES = 5;
/** The maximum length of a value that is written out, in characters. */
const MAX_VALUE_LENGTH = 60;

/** The words for a filter's comparison, placed before its values. */
const OPERATOR_WORDS: Record<Exclude<Filter['operator'], 'is_null'>, string> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  in: 'is one of',
  nin: 'is none of',
  contains: 'contains',
  starts_with: 'begins with',
};

/** The words for comparing dates and times. */
const TIME_OPERATOR_WORDS: Partial<typeof OPERATOR_WORDS> = {
  gt: 'is after',
  gte: 'is on or after',
  lt: 'is before',
  lte: 'is on or before',
};

const joinWithAnd = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;

const quoteValue = (value: string, isTime: boolean): string =>
  isTime && value.endsWith(END_OF_DAY)
    ? `the end of ${JSON.stringify(value.slice(0, -END_OF_DAY.length))}`
    : JSON.stringify(shorten(value, MAX_VALUE_LENGTH));

function describeFilter(
  { dimension: { id, name }, operator, values }: Filter,
  timeDimensionIds: ReadonlySet<string>,
): string {
  if (operator === 'is_null') return `${name} is ${values[0] === 'true' ? '' : 'not '}empty`;
  const texts = values.slice(0, MAX_WRITTEN_VALUES).map((value) => quoteValue(value, timeDimensionIds.has(id)));
  const remainder = values.length > MAX_WRITTEN_VALUES ? [`${values.length - MAX_WRITTEN_VALUES} more`] : [];
  const operatorWords = (timeDimensionIds.has(id) && TIME_OPERATOR_WORDS[operator]) || OPERATOR_WORDS[operator];
  return `${name} ${operatorWords} ${joinWithAnd([...texts, ...remainder])}`;
}

/** Describes a query in one sentence: from the query alone, so that it says what was computed and not what was meant. */
export function describeQuery({ query, columns, timeDimensionIds }: PreparedQuery): string {
  const { metrics, dimensions, filters, timeGrain, orderBy, limit } = query;
  const names = dimensions.map(({ id, name }) =>
    timeGrain && timeDimensionIds.has(id) ? `${timeGrain} of ${name}` : name,
  );
  const order = orderBy.map(
    ({ column, descending }) => `${columns[column]?.name}, ${descending ? 'descending' : 'ascending'}`,
  );
  const parts = [
    joinWithAnd(metrics.map(({ name }) => name)),
    ...(names.length > 0 ? [`by ${joinWithAnd(names)}`] : []),
    ...(filters.length > 0
      ? [`where ${joinWithAnd(filters.map((filter) => describeFilter(filter, timeDimensionIds)))}`]
      : []),
    ...(order.length > 0 ? [`ordered by ${joinWithAnd(order)}`] : []),
    ...(dimensions.length > 0 ? [`at most ${limit} ${limit === 1 ? 'row' : 'rows'}`] : []),
  ];
  return `${parts.join('; ')}.`;
}
