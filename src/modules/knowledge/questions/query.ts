import { ExactNumber } from '../../../kernel/exact-json.ts';
import { type AskedMetrics, metricQuery } from '../metrics/query.ts';
import type { QuestionRow } from './store.ts';

/** The query of a question. */
export const askedOf = ({ query }: Pick<QuestionRow, 'query'>): AskedMetrics => metricQuery.parse(query);

/** A query as it is stored: numbers that JSON would round are texts of their digits. */
export const storable = (query: AskedMetrics): Record<string, unknown> => ({
  ...query,
  filters: query.filters.map((filter) => ({
    ...filter,
    values: filter.values.map((value) => (value instanceof ExactNumber ? value.digits : value)),
  })),
});
