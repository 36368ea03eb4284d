import { z } from 'zod';
import type { FieldProblem } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { UNKNOWN_FIELD } from '../kernel/members.ts';

type Issue = z.core.$ZodRawIssue;

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  file: 'a file',
};

const FORMATS: Readonly<Record<string, string>> = {
  email: 'must be an email address',
  url: 'must be a web address',
  datetime: 'must be a time such as 2026-01-31T12:00:00Z',
  date: 'must be a date such as "2024-01-31"',
  uuid: 'must be a UUID',
};

/** The option that makes zod include the invalid values in its issues; they are needed for the messages. */
export const REPORT_INPUT_VALUES = { reportInput: true } as const;

/** The message of an issue. What is missing or empty is reported so: clients rely on the `reason` made of it. */
export function sayIssue({ code, input, message }: Pick<z.core.$ZodIssue, 'code' | 'input' | 'message'>): string {
  if (input === undefined && code === 'invalid_value') return 'is required';
  if (input === '' && (code === 'invalid_format' || code === 'custom')) return 'must not be empty';
  return message;
}

/** What zod says of any whole number beyond those that a double holds exactly, before it says the field's own limit. */
const BEYOND_INTEGERS: readonly string[] = [
  `must be at most ${Number.MAX_SAFE_INTEGER}`,
  `must be at least ${Number.MIN_SAFE_INTEGER}`,
];

/** The first problem of each of at most `most` fields: further ones of the same value only repeat it. */
export function selectFirstProblems(problems: Iterable<FieldProblem>, most = Number.POSITIVE_INFINITY): FieldProblem[] {
  const first = new Map<string, FieldProblem>();
  for (const problem of problems) {
    const known = first.get(problem.field);
    if (!known || BEYOND_INTEGERS.includes(known.message)) first.set(problem.field, problem);
    if (first.size === most) break;
  }
  return [...first.values()];
}

/** Characters of the values that are listed to choose from, and of the names that are not known. */
const MAX_VALUES = 500;

/** The message for a field whose schema has none of its own, in English; `texts/errors` translates it. */
function makeIssueMessage(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return Object.hasOwn(TYPES, issue.expected) ? `must be ${TYPES[issue.expected]}` : 'is not valid';
    case 'too_small':
      return describeMinimum(issue);
    case 'too_big':
      return describeMaximum(issue);
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'has not the expected form';
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : formatAllowedValues(issue.values);
    case 'unrecognized_keys':
      return `${UNKNOWN_FIELD}: ${issue.keys
        .map((key) => JSON.stringify(key))
        .join(', ')
        .slice(0, MAX_VALUES)}`;
    case 'invalid_union':
      if (findDiscriminator(issue) === undefined) return 'is required';
      return Array.isArray(issue.options)
        ? formatAllowedValues(issue.options)
        : 'fits none of the forms that it can have';
    default:
      return 'is not valid';
  }
}

/** What tells the forms of a union apart in the value, else the value itself. */
const findDiscriminator = ({ input, discriminator }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): unknown =>
  typeof discriminator === 'string' && isRecord(input) ? input[discriminator] : input;

const formatAllowedValues = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be exactly ${values[0]}` : `must be one of ${values.join(', ').slice(0, MAX_VALUES)}`;

function describeMinimum({ origin, minimum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  const one = Number(minimum) === 1;
  if (origin === 'string') return one ? 'must not be empty' : `must have at least ${minimum} characters`;
  if (LISTS.includes(origin)) return one ? 'must hold at least one entry' : `must hold at least ${minimum} entries`;
  return inclusive === false ? `must be more than ${minimum}` : `must be at least ${minimum}`;
}

function describeMaximum({ origin, maximum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  if (origin === 'string') return `must have at most ${maximum} characters`;
  if (LISTS.includes(origin)) return `must hold at most ${maximum} entries`;
  return inclusive === false ? `must be less than ${maximum}` : `must be at most ${maximum}`;
}

const LISTS: readonly string[] = ['array', 'set', 'map', 'object', 'file'];

z.config({ customError: (issue) => makeIssueMessage(issue as Issue) });
