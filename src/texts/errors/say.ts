import type { Locale } from '../locales.ts';
import { FAILURES, NOUNS } from './failures.ts';
import { FIELDS, type FieldReason } from './fields.ts';

/** A sentence with places for parts that differ from case to case. */
interface Sentence {
  /** The literal texts around the places, in English. */
  parts: string[];
  /** The names of the places, in the order of the English sentence. */
  places: string[];
  words: Record<Locale, string>;
  reason?: FieldReason;
}

/** A place in a sentence, `{name}`, for a part that differs. Braces that are doubled are those of a template of SQL. */
export const PLACE = /(?<!\{)\{(\w+)\}(?!\})/;

const sentence = (english: string, portuguese: string, spanish: string, reason?: FieldReason): Sentence => {
  const split = english.split(PLACE);
  return {
    parts: split.filter((_, index) => index % 2 === 0),
    places: split.filter((_, index) => index % 2 === 1),
    words: { en: english, 'pt-BR': portuguese, es: spanish },
    ...(reason && { reason }),
  };
};

const SENTENCES = [
  ...FIELDS.map(([reason, english, portuguese, spanish]) => sentence(english, portuguese, spanish, reason)),
  ...FAILURES.map(([english, portuguese, spanish]) => sentence(english, portuguese, spanish)),
];
const FIXED = new Map(SENTENCES.filter(({ places }) => places.length === 0).map((each) => [each.words.en, each]));

const literalLength = ({ parts }: Sentence): number => parts.join('').length;
/** The most specific first: `must be at most {max}` begins as others do. */
const OPEN = SENTENCES.filter(({ places }) => places.length > 0).toSorted(
  (a, b) => literalLength(b) - literalLength(a),
);

/** Returns the values in the places of a sentence, if a text is that sentence. Linear in the text. */
function valuesIn(text: string, { parts, places }: Sentence): Record<string, string> | undefined {
  const [first = '', ...rest] = parts;
  if (!text.startsWith(first)) return undefined;
  const values: Record<string, string> = {};
  let from = first.length;
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const end = isLast ? text.length - part.length : text.indexOf(part, from);
    if (end < from || (isLast && !text.endsWith(part))) return undefined;
    const [place = '', value] = [places[index], text.slice(from, end)];
    if (isLimit(place) && !NUMBER.test(value)) return undefined;
    values[place] = value;
    from = end + part.length;
  }
  return values;
}

const NUMBER = /^-?\d+(\.\d+)?$/;
const isLimit = (place: string): place is 'min' | 'max' => place === 'min' || place === 'max';

interface ParsedMessage {
  sentence: Sentence;
  values: Record<string, string>;
}

function find(text: string): ParsedMessage | undefined {
  const fixed = FIXED.get(text);
  if (fixed) return { sentence: fixed, values: {} };
  for (const each of OPEN) {
    const values = valuesIn(text, each);
    if (values) return { sentence: each, values };
  }
  return undefined;
}

/** The places whose values are nouns of ours. */
const NAMES_THINGS = ['thing', 'field', 'kind'];

function inLanguage(text: string, found: ParsedMessage | undefined, locale: Locale): string {
  if (!found || locale === 'en') return text;
  const at = locale === 'es' ? 1 : 0;
  return found.sentence.words[locale].replaceAll(new RegExp(PLACE, 'g'), (_, place: string) => {
    const value = found.values[place] ?? '';
    if (place === 'problem') return translate(value, locale);
    return NAMES_THINGS.includes(place) && Object.hasOwn(NOUNS, value) ? (NOUNS[value]?.[at] ?? value) : value;
  });
}

/** Translates an English sentence of ours. Other text, such as PostgreSQL's words, stays as it is. */
export const translate = (english: string, locale: Locale): string =>
  locale === 'en' ? english : inLanguage(english, find(english), locale);

/** Whether a sentence can be said in every language. */
export const isTranslated = (english: string): boolean => find(english) !== undefined;

/** The problem of a field: its kind, its message for a person, and the limits. */
export interface FieldExplanation {
  reason: FieldReason;
  message: string;
  limits?: { min?: number; max?: number };
}

/** Why, where a sentence only says where its problem is: why that is one. */
const getReason = (found: ParsedMessage | undefined): FieldReason | undefined =>
  (found?.values.problem === undefined ? undefined : getReason(find(found.values.problem))) ?? found?.sentence.reason;

const AT_LEAST_ONE = /^must (not be empty|hold at least one\b)/;

/** Explains the problem of a field that an English sentence tells. */
export function explainField(english: string, locale: Locale): FieldExplanation {
  const found = find(english);
  const limits = Object.entries(found?.values ?? {}).flatMap(([place, value]) =>
    isLimit(place) ? [[place, Number(value)] as const] : [],
  );
  if (AT_LEAST_ONE.test(english)) limits.push(['min', 1]);
  return {
    reason: getReason(found) ?? 'format',
    message: inLanguage(english, found, locale),
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  };
}

/** A sentence that says when to try again: in seconds, and in minutes too where that is long. */
export function tryAgainIn(seconds: number, locale: Locale): string {
  const [one, many] = SECONDS[locale];
  const minutes = seconds < LONG_WAIT_SECONDS ? '' : ` (${Math.ceil(seconds / 60)} ${MINUTES[locale]})`;
  return `${TRY_AGAIN_IN[locale]} ${seconds} ${seconds === 1 ? one : many}${minutes}.`;
}

const LONG_WAIT_SECONDS = 120;
const TRY_AGAIN_IN: Record<Locale, string> = {
  en: 'Try again in',
  'pt-BR': 'Tente novamente em',
  es: 'Inténtelo de nuevo en',
};
const SECONDS: Record<Locale, readonly [one: string, many: string]> = {
  en: ['second', 'seconds'],
  'pt-BR': ['segundo', 'segundos'],
  es: ['segundo', 'segundos'],
};
const MINUTES: Record<Locale, string> = { en: 'minutes', 'pt-BR': 'minutos', es: 'minutos' };
