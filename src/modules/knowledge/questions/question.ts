import { ExactNumber } from '../../../kernel/exact-json.ts';
import { type Denials, NOTHING_DENIED } from '../../../permissions/denials.ts';
import { type MetricQueryInput, metricQuery } from '../metrics/query.ts';
import { type HiddenItems, namesHidden } from '../metrics/service.ts';
import { textUpTo } from '../resources/fields.ts';
import type { QuestionRow } from './store.ts';

/** A question as people ask it. */
export const questionText = textUpTo(1000).meta({ examples: ['What did customers in Recife pay last year?'] });

const ACCENTS = /[\u0300-\u036f]/g;

/** Whether punctuation makes a difference: within numbers, a sign before one, and percent. */
const isSignificantMark = (mark: string, before: string, after: string): boolean =>
  mark === '%' || (/\d/.test(after) && (/\d/.test(before) || (/[-−]/.test(mark) && !/\p{L}/u.test(before))));

/** A question in the form for comparison: without case, accents, punctuation, and with single spaces; may become empty. */
export const makeQuestionKey = (question: string): string =>
  question
    .normalize('NFKD')
    .replaceAll(ACCENTS, '')
    .toLowerCase()
    .replaceAll(/\p{P}/gu, (mark, at: number, text: string) =>
      isSignificantMark(mark, text.charAt(at - 1), text.charAt(at + mark.length)) ? mark : ' ',
    )
    .trim()
    .replaceAll(/\s+/gu, ' ')
    .normalize('NFC');

/** The query of a question. */
export const parseStoredQuery = ({ query }: Pick<QuestionRow, 'query'>): MetricQueryInput => metricQuery.parse(query);

/** A query as it is stored: numbers that JSON would round are texts of their digits. */
export const toStoredQuery = (query: MetricQueryInput): Record<string, unknown> => ({
  ...query,
  filters: query.filters.map((filter) => ({
    ...filter,
    values: filter.values.map((value) => (value instanceof ExactNumber ? value.digits : value)),
  })),
});

/** Finds the questions whose queries name hidden items, as a denial of these questions. @param read reads all questions */
export async function findHiddenQuestions(
  hidden: HiddenItems,
  read: () => Promise<Pick<QuestionRow, 'id' | 'query'>[]>,
): Promise<Denials> {
  if (hidden.ids.size === 0) return NOTHING_DENIED;
  const named = (await read()).filter((row) => namesHidden(parseStoredQuery(row), hidden));
  return { ...NOTHING_DENIED, ids: named.map(({ id }) => id) };
}
