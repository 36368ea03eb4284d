import { ExactNumber } from '../kernel/exact-json.ts';

/** The kinds of values of a visualization's parameter or a dashboard's filter. */
export const PARAMETER_KINDS = ['select', 'multi_select', 'text', 'number', 'date', 'date_range'] as const;

export type ParameterKind = (typeof PARAMETER_KINDS)[number];

/** Tells whether values of a kind are chosen among options; share policies are only about these kinds. */
export const isChoiceKind = (kind: ParameterKind): boolean => kind === 'select' || kind === 'multi_select';

/** The pattern of slugs of filters and parameters: lower-case letters, digits and `_`, hyphens between them. */
export const PARAMETER_SLUG_PATTERN = /^[a-z0-9][a-z0-9_]*(?:-[a-z0-9_]+)*$/;
export const MAX_SLUG_LENGTH = 63;

/** A parameter in its author's definition. */
export interface Parameter {
  slug: string;
  label: string;
  kind: ParameterKind;
  /** The default in the form in which a caller sends a value; null for none. */
  default: unknown;
  required: boolean;
  /** The viewer attribute that always sets the parameter's value for viewers. */
  viewer_attribute?: string | undefined;
}

/** A value to bind, null for none. The value of a choice is a list, empty where a viewer may see nothing. */
export type BoundValue =
  | null
  | { type: 'text' | 'number' | 'date'; value: string }
  | { type: 'list'; values: string[] }
  | { type: 'range'; from: string | null; to: string | null };

/** The bound values by slug. */
export type BoundValues = ReadonlyMap<string, BoundValue>;

export const MAX_TEXT_LENGTH = 1000;
export const MAX_LIST_LENGTH = 1000;
/** The maximum number of parameters that one call may send. */
export const MAX_PARAMETERS = 100;

/** A coerced value, or the problem, which names the expected value. */
export type CoercedValue = { value: BoundValue } | { problem: string };

/**
 * Coerces a JSON value to a value of a kind. Absent, null, `""` and `[]` are no value, and so is a date range without ends. Parts
 * nested deeper than the kind needs are not read.
 */
export function coerceParameter(kind: ParameterKind, input: unknown): CoercedValue {
  if (isNoValue(input)) return { value: null };
  return COERCIONS[kind](input);
}

/** Tells whether a caller sent no value: absent, null, `""` or `[]`. */
export const isNoValue = (input: unknown): boolean =>
  input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0);

const makeProblem = (problem: string): CoercedValue => ({ problem });

const TEXT_PROBLEM = `must be text of at most ${MAX_TEXT_LENGTH} characters`;
const TEXTS_PROBLEM = `must hold texts of at most ${MAX_TEXT_LENGTH} characters`;
const STORABLE_PROBLEM = 'must be Unicode text without NUL characters';
const NUMBER_PROBLEM = 'must be a number';
const DATE_PROBLEM = 'must be a date such as "2024-01-31"';

const COERCIONS: Record<ParameterKind, (input: unknown) => CoercedValue> = {
  text: (input) => coerceText(input, (value) => ({ type: 'text', value })),
  select: (input) => coerceText(input, (value) => ({ type: 'list', values: [value] })),
  multi_select: coerceTextList,
  number: (input) => {
    const text = toNumberText(input);
    return text === undefined ? makeProblem(NUMBER_PROBLEM) : { value: { type: 'number', value: text } };
  },
  date: (input) => (isDate(input) ? { value: { type: 'date', value: input } } : makeProblem(DATE_PROBLEM)),
  date_range: coerceDateRange,
};

function coerceText(input: unknown, makeBoundValue: (text: string) => BoundValue): CoercedValue {
  if (Array.isArray(input)) return makeProblem('must be one value');
  const text = toScalarText(input);
  if (text === undefined) return makeProblem('must be a text, a number or a boolean');
  if (text.length > MAX_TEXT_LENGTH) return makeProblem(TEXT_PROBLEM);
  return isStorable(text) ? { value: makeBoundValue(text) } : makeProblem(STORABLE_PROBLEM);
}

/** Tells whether PostgreSQL can store a text. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/**
 * Converts a scalar to text: strings unchanged; numbers and booleans as in JSON. Undefined for anything else.
 */
function toScalarText(input: unknown): string | undefined {
  const text =
    typeof input === 'number' || typeof input === 'boolean'
      ? String(input)
      : input instanceof ExactNumber
        ? input.digits
        : input;
  return typeof text === 'string' ? text : undefined;
}

function coerceTextList(input: unknown): CoercedValue {
  const list = Array.isArray(input) ? input : [input];
  if (list.length > MAX_LIST_LENGTH) return makeProblem(`must hold at most ${MAX_LIST_LENGTH} values`);
  const values = list.map(toScalarText).filter((value) => value !== undefined);
  if (values.length < list.length) return makeProblem('must be a list of values');
  if (values.some(({ length }) => length > MAX_TEXT_LENGTH)) return makeProblem(TEXTS_PROBLEM);
  return values.every(isStorable)
    ? { value: { type: 'list', values: [...new Set(values)] } }
    : makeProblem(STORABLE_PROBLEM);
}

const DECIMAL_PATTERN = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?$/;
const MAX_NUMBER_LENGTH = 100;

function toNumberText(input: unknown): string | undefined {
  const text = toScalarText(input);
  if (text === undefined || typeof input === 'boolean') return undefined;
  return text.length <= MAX_NUMBER_LENGTH && DECIMAL_PATTERN.test(text) ? text : undefined;
}

function isDate(input: unknown): input is string {
  if (typeof input !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(input)) return false;
  const day = new Date(`${input}T00:00:00Z`);
  return !input.startsWith('0000') && !Number.isNaN(day.getTime()) && day.toISOString().startsWith(input);
}

function coerceDateRange(input: unknown): CoercedValue {
  const problem = 'must be { "from": date, "to": date }; either end may be left out';
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return makeProblem(problem);
  if (Object.keys(input).some((field) => field !== 'from' && field !== 'to')) return makeProblem(problem);
  const { from, to } = input as { from?: unknown; to?: unknown };
  const ends = [from, to].map((end) => (isNoValue(end) ? null : isDate(end) ? end : undefined));
  if (ends.includes(undefined)) return makeProblem(problem);
  const [firstDay, lastDay] = ends as [string | null, string | null];
  if (firstDay === null && lastDay === null) return { value: null };
  if (firstDay !== null && lastDay !== null && firstDay > lastDay) return makeProblem('must not end before it begins');
  return { value: { type: 'range', from: firstDay, to: lastDay } };
}

/** Returns the value of an author's default. @throws Error for a default that was never validated */
export function getDefault(parameter: Pick<Parameter, 'kind' | 'default'>): BoundValue {
  const coercedDefault = coerceParameter(parameter.kind, parameter.default);
  if ('problem' in coercedDefault) throw new Error('a default that does not fit its kind');
  return coercedDefault.value;
}
