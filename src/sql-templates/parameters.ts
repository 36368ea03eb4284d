import { ExactNumber } from '../kernel/exact-json.ts';

/** The kinds of values of a visualization's parameter or a dashboard's filter. */
export const PARAMETER_KINDS = ['select', 'multi_select', 'text', 'number', 'date', 'date_range'] as const;

export type ParameterKind = (typeof PARAMETER_KINDS)[number];

/** Kinds whose values are chosen among options; share policies are about them alone. */
export const isChoice = (kind: ParameterKind): boolean => kind === 'select' || kind === 'multi_select';

/** Slugs of filters and parameters: lower-case letters, digits and `_`, hyphens between them. */
export const PARAMETER_SLUG_PATTERN = /^[a-z0-9][a-z0-9_]*(?:-[a-z0-9_]+)*$/;
export const MAX_SLUG_LENGTH = 63;

/** A parameter as its author defined it. */
export interface Parameter {
  slug: string;
  label: string;
  kind: ParameterKind;
  /** A value as a caller would send it; null for none. */
  default: unknown;
  required: boolean;
  /** For viewers its value is always this attribute of theirs. */
  viewer_attribute?: string | undefined;
}

/** A value to bind, null for none. A choice is a list, empty where a viewer may see nothing. */
export type BoundValue =
  | null
  | { type: 'text' | 'number' | 'date'; value: string }
  | { type: 'list'; values: string[] }
  | { type: 'range'; from: string | null; to: string | null };

/** Bound values by slug. */
export type BoundValues = ReadonlyMap<string, BoundValue>;

export const MAX_TEXT_LENGTH = 1000;
export const MAX_LIST_LENGTH = 1000;
/** The maximum number of parameters that one call may send. */
export const MAX_PARAMETERS = 100;

/** A coerced value, or the problem: the value that was expected. */
export type CoercedValue = { value: BoundValue } | { problem: string };

/**
 * A JSON value as a value of its kind. Absent, null, `""` and `[]` are no value, and so is a date range without ends.
 * Nothing nested deeper than the kind needs is looked into.
 */
export function coerceParameter(kind: ParameterKind, input: unknown): CoercedValue {
  if (isNoValue(input)) return { value: null };
  return COERCIONS[kind](input);
}

/** Whether a caller sent nothing: absent, null, `""` or `[]`. */
export const isNoValue = (input: unknown): boolean =>
  input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0);

const makeProblem = (problem: string): CoercedValue => ({ problem });

const TEXT = `must be text of at most ${MAX_TEXT_LENGTH} characters`;
const TEXTS = `must hold texts of at most ${MAX_TEXT_LENGTH} characters`;
const STORABLE = 'must be Unicode text without NUL characters';
const NUMBER = 'must be a number';
const DATE = 'must be a date such as "2024-01-31"';

const COERCIONS: Record<ParameterKind, (input: unknown) => CoercedValue> = {
  text: (input) => coerceText(input, (value) => ({ type: 'text', value })),
  select: (input) => coerceText(input, (value) => ({ type: 'list', values: [value] })),
  multi_select: listOfTexts,
  number: (input) => {
    const text = numberText(input);
    return text === undefined ? makeProblem(NUMBER) : { value: { type: 'number', value: text } };
  },
  date: (input) => (isDate(input) ? { value: { type: 'date', value: input } } : makeProblem(DATE)),
  date_range: dateRange,
};

function coerceText(input: unknown, toValue: (text: string) => BoundValue): CoercedValue {
  if (Array.isArray(input)) return makeProblem('must be one value');
  const text = scalarText(input);
  if (text === undefined) return makeProblem('must be a text, a number or a boolean');
  if (text.length > MAX_TEXT_LENGTH) return makeProblem(TEXT);
  return isStorable(text) ? { value: toValue(text) } : makeProblem(STORABLE);
}

/** Whether PostgreSQL has a text like it. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Strings as they are; numbers and booleans as in JSON. Undefined for all else. */
function scalarText(input: unknown): string | undefined {
  const text =
    typeof input === 'number' || typeof input === 'boolean'
      ? String(input)
      : input instanceof ExactNumber
        ? input.digits
        : input;
  return typeof text === 'string' ? text : undefined;
}

function listOfTexts(input: unknown): CoercedValue {
  const list = Array.isArray(input) ? input : [input];
  if (list.length > MAX_LIST_LENGTH) return makeProblem(`must hold at most ${MAX_LIST_LENGTH} values`);
  const values = list.map(scalarText).filter((value) => value !== undefined);
  if (values.length < list.length) return makeProblem('must be a list of values');
  if (values.some(({ length }) => length > MAX_TEXT_LENGTH)) return makeProblem(TEXTS);
  return values.every(isStorable) ? { value: { type: 'list', values: [...new Set(values)] } } : makeProblem(STORABLE);
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const MAX_NUMBER_LENGTH = 100;

function numberText(input: unknown): string | undefined {
  const text = scalarText(input);
  if (text === undefined || typeof input === 'boolean') return undefined;
  return text.length <= MAX_NUMBER_LENGTH && DECIMAL.test(text) ? text : undefined;
}

function isDate(input: unknown): input is string {
  if (typeof input !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(input)) return false;
  const day = new Date(`${input}T00:00:00Z`);
  return !input.startsWith('0000') && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(input);
}

function dateRange(input: unknown): CoercedValue {
  const problem = 'must be { "from": date, "to": date }; either end may be left out';
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return makeProblem(problem);
  if (Object.keys(input).some((field) => field !== 'from' && field !== 'to')) return makeProblem(problem);
  const { from, to } = input as { from?: unknown; to?: unknown };
  const ends = [from, to].map((end) => (isNoValue(end) ? null : isDate(end) ? end : undefined));
  if (ends.includes(undefined)) return makeProblem(problem);
  const [first, last] = ends as [string | null, string | null];
  if (first === null && last === null) return { value: null };
  if (first !== null && last !== null && first > last) return makeProblem('must not end before it begins');
  return { value: { type: 'range', from: first, to: last } };
}

/** The value of an author's default. @throws Error for one that was never validated */
export function getDefault(parameter: Pick<Parameter, 'kind' | 'default'>): BoundValue {
  const coerced = coerceParameter(parameter.kind, parameter.default);
  if ('problem' in coerced) throw new Error('a default that does not fit its kind');
  return coerced.value;
}
