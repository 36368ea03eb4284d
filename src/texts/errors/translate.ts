import type { Locale } from '../locales.ts';
import { FAILURE_SENTENCES, NOUNS, type Translations } from './failures.ts';
import { FIELD_REASONS, FIELD_SENTENCES, type FieldReason } from './fields.ts';

/** A sentence with placeholders for parts that vary. */
interface Sentence {
  /** The literal texts around the placeholders, in English. */
  parts: string[];
  /** The names of the placeholders, in the order of the English sentence. */
  placeholderNames: string[];
  translations: Record<Locale, string>;
  reason?: FieldReason;
}

/** The pattern of a placeholder in a sentence, `{name}`. Doubled braces belong to a template of SQL. */
export const PLACEHOLDER_PATTERN = /(?<!\{)\{(\w+)\}(?!\})/;

const makeSentences = (translations: Translations, reason?: FieldReason): Sentence[] =>
  Object.entries(translations).map(([english, [portuguese, spanish]]) => {
    const splitParts = english.split(PLACEHOLDER_PATTERN);
    return {
      parts: splitParts.filter((_, index) => index % 2 === 0),
      placeholderNames: splitParts.filter((_, index) => index % 2 === 1),
      translations: { en: english, 'pt-BR': portuguese, es: spanish },
      ...(reason && { reason }),
    };
  });

const SENTENCES = [
  ...FIELD_REASONS.flatMap((reason) => makeSentences(FIELD_SENTENCES[reason], reason)),
  ...makeSentences(FAILURE_SENTENCES),
];
const FIXED_SENTENCES = new Map(
  SENTENCES.filter(({ placeholderNames }) => placeholderNames.length === 0).map((sentence) => [
    sentence.translations.en,
    sentence,
  ]),
);

const measureLiterals = ({ parts }: Sentence): number => parts.join('').length;
/** The sentences with placeholders, the most specific first: `must be at most {max}` begins like other sentences. */
const SENTENCES_WITH_PLACEHOLDERS = SENTENCES.filter(({ placeholderNames }) => placeholderNames.length > 0).toSorted(
  (a, b) => measureLiterals(b) - measureLiterals(a),
);

/** Reads the values of a sentence's placeholders from a text; undefined if the text is not that sentence. Linear in the text. */
function readPlaceholderValues(
  text: string,
  { parts, placeholderNames }: Sentence,
): Record<string, string> | undefined {
  const [first = '', ...rest] = parts;
  if (!text.startsWith(first)) return undefined;
  const values: Record<string, string> = {};
  let from = first.length;
  for (const [index, part] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const end = isLast ? text.length - part.length : text.indexOf(part, from);
    if (end < from || (isLast && !text.endsWith(part))) return undefined;
    const [placeholder = '', value] = [placeholderNames[index], text.slice(from, end)];
    if (isLimitName(placeholder) && !NUMBER_PATTERN.test(value)) return undefined;
    values[placeholder] = value;
    from = end + part.length;
  }
  return values;
}

const NUMBER_PATTERN = /^-?\d+(\.\d+)?$/;
const isLimitName = (place: string): place is 'min' | 'max' => place === 'min' || place === 'max';

interface ParsedMessage {
  sentence: Sentence;
  values: Record<string, string>;
}

function parseMessage(text: string): ParsedMessage | undefined {
  const fixedSentence = FIXED_SENTENCES.get(text);
  if (fixedSentence) return { sentence: fixedSentence, values: {} };
  for (const sentence of SENTENCES_WITH_PLACEHOLDERS) {
    const values = readPlaceholderValues(text, sentence);
    if (values) return { sentence, values };
  }
  return undefined;
}

/** The placeholders whose values are nouns of `NOUNS`, or numbers of them. */
const NOUN_PLACEHOLDERS = ['thing', 'field', 'kind', 'users', 'serviceAccounts', 'groups'];

function translateMessage(text: string, parsedMessage: ParsedMessage | undefined, locale: Locale): string {
  if (!parsedMessage || locale === 'en') return text;
  const at = locale === 'es' ? 1 : 0;
  return parsedMessage.sentence.translations[locale].replaceAll(
    new RegExp(PLACEHOLDER_PATTERN, 'g'),
    (_, place: string) => {
      const value = parsedMessage.values[place] ?? '';
      if (place === 'problem') return translate(value, locale);
      if (!NOUN_PLACEHOLDERS.includes(place)) return value;
      const [, count = '', noun = ''] = /^(\d+ )?(.*)$/s.exec(value) ?? [];
      return count + (Object.hasOwn(NOUNS, noun) ? (NOUNS[noun]?.[at] ?? noun) : noun);
    },
  );
}

/** Translates an English sentence of our own. Other text, such as PostgreSQL's messages, stays unchanged. */
export const translate = (english: string, locale: Locale): string =>
  locale === 'en' ? english : translateMessage(english, parseMessage(english), locale);

/** Tells whether a sentence can be translated to every language. */
export const isTranslated = (english: string): boolean => parseMessage(english) !== undefined;

/** The problem of a field: its kind, its message for a person, and the limits. */
export interface FieldExplanation {
  reason: FieldReason;
  message: string;
  limits?: { min?: number; max?: number };
}

/** Returns the reason of a message; where the sentence only locates another problem, the reason of that problem. */
const getReason = (parsedMessage: ParsedMessage | undefined): FieldReason | undefined =>
  (parsedMessage?.values.problem === undefined ? undefined : getReason(parseMessage(parsedMessage.values.problem))) ??
  parsedMessage?.sentence.reason;

const AT_LEAST_ONE_PATTERN = /^must (not be empty|hold at least one\b)/;

/** Explains the problem of a field from its English sentence. */
export function explainField(english: string, locale: Locale): FieldExplanation {
  const parsedMessage = parseMessage(english);
  const limits = Object.entries(parsedMessage?.values ?? {}).flatMap(([placeholder, value]) =>
    isLimitName(placeholder) ? [[placeholder, Number(value)] as const] : [],
  );
  if (AT_LEAST_ONE_PATTERN.test(english)) limits.push(['min', 1]);
  return {
    reason: getReason(parsedMessage) ?? 'format',
    message: translateMessage(english, parsedMessage, locale),
    ...(limits.length > 0 && { limits: Object.fromEntries(limits) }),
  };
}

/** Formats a sentence that says when to try again: in seconds, and in minutes too where that is long. */
export function formatTryAgain(seconds: number, locale: Locale): string {
  const [singularNoun, pluralNoun] = SECOND_NOUNS[locale];
  const minutes = seconds < LONG_WAIT_SECONDS ? '' : ` (${Math.ceil(seconds / 60)} ${DURATION_MINUTES[locale]})`;
  return `${TRY_AGAIN_TEXTS[locale]} ${seconds} ${seconds === 1 ? singularNoun : pluralNoun}${minutes}.`;
}

/** The shortest wait that a sentence states in minutes as well. Seconds. */
const LONG_WAIT_SECONDS = 120;
const TRY_AGAIN_TEXTS: Record<Locale, string> = {
  en: 'Try again in',
  'pt-BR': 'Tente novamente em',
  es: 'Inténtelo de nuevo en',
};
const SECOND_NOUNS: Record<Locale, readonly [one: string, many: string]> = {
  en: ['second', 'seconds'],
  'pt-BR': ['segundo', 'segundos'],
  es: ['segundo', 'segundos'],
};
const DURATION_MINUTES: Record<Locale, string> = { en: 'minutes', 'pt-BR': 'minutos', es: 'minutos' };
