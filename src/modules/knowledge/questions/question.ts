import { ExactNumber } from '../../../kernel/exact-json.ts';
import { type Denials, NOTHING_DENIED } from '../../../permissions/denials.ts';
import { type HiddenItems, namesHiddenItem } from '../metrics/hidden-items.ts';
import { type MetricQueryInput, metricQuery } from '../metrics/query.ts';
import { makeTextSchema } from '../resources/fields.ts';
import type { QuestionRow } from './store.ts';

/** The schema of a question as people ask it. */
export const questionText = makeTextSchema(1000).meta({ examples: ['What did customers in Recife pay last year?'] });

const ACCENT_PATTERN = /[\u0300-\u036f]/g;

/** Tells whether punctuation makes a difference: within numbers, a sign before a number, and percent. */
const isSignificantPunctuation = (punctuation: string, previousText: string, followingText: string): boolean =>
  punctuation === '%' ||
  (/\d/.test(followingText) && (/\d/.test(previousText) || (/[-−]/.test(punctuation) && !/\p{L}/u.test(previousText))));

/** Returns a question in the form for comparison: without case, accents, punctuation, and with single spaces; may be empty. */
export const makeQuestionKey = (question: string): string =>
  question
    .normalize('NFKD')
    .replaceAll(ACCENT_PATTERN, '')
    .toLowerCase()
    .replaceAll(/\p{P}/gu, (punctuation, at: number, text: string) =>
      isSignificantPunctuation(punctuation, text.charAt(at - 1), text.charAt(at + punctuation.length))
        ? punctuation
        : ' ',
    )
    .trim()
    .replaceAll(/\s+/gu, ' ')
    .normalize('NFC');

/** Parses the stored query of a question. */
export const parseStoredQuery = ({ query }: Pick<QuestionRow, 'query'>): MetricQueryInput => metricQuery.parse(query);

/** Returns a query as it is stored: numbers that JSON would round become texts of their digits. */
export const toStoredQuery = (query: MetricQueryInput): Record<string, unknown> => ({
  ...query,
  filters: query.filters.map((filter) => ({
    ...filter,
    values: filter.values.map((value) => (value instanceof ExactNumber ? value.digits : value)),
  })),
});

/** Returns the denial of the questions whose queries name hidden items. @param readQuestions reads all questions */
export async function findHiddenQuestions(
  hiddenItems: HiddenItems,
  readQuestions: () => Promise<Pick<QuestionRow, 'id' | 'query'>[]>,
): Promise<Denials> {
  if (hiddenItems.ids.size === 0) return NOTHING_DENIED;
  const namingRows = (await readQuestions()).filter((row) => namesHiddenItem(parseStoredQuery(row), hiddenItems));
  return { ...NOTHING_DENIED, ids: namingRows.map(({ id }) => id) };
}
