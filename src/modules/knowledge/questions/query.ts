import { ExactNumber } from '../../../kernel/exact-json.ts';
import { type MetricQueryInput, metricQuery } from '../metrics/query.ts';
import type { QuestionRow } from './store.ts';

/** The query of a question. */
export const storedQuery = ({ query }: Pick<QuestionRow, 'query'>): MetricQueryInput => metricQuery.parse(query);

/** A query as it is stored: numbers that JSON would round are texts of their digits. */
export const storable = (query: MetricQueryInput): Record<string, unknown> => ({
  ...query,
  filters: query.filters.map((filter) => ({
    ...filter,
    values: filter.values.map((value) => (value instanceof ExactNumber ? value.digits : value)),
  })),
});
