import { z } from 'zod';
import type { FieldProblem } from '../kernel/failure.ts';
import { isRecord } from '../kernel/fields.ts';
import { UNKNOWN_FIELD_MESSAGE } from '../kernel/members.ts';

type Issue = z.core.$ZodRawIssue;

const TYPE_WORDS: Readonly<Record<string, string>> = {
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

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  email: 'must be an email address',
  url: 'must be a web address',
  datetime: 'must be a time such as 2026-01-31T12:00:00Z',
  date: 'must be a date such as "2024-01-31"',
  uuid: 'must be a UUID',
};

/** Option that makes zod include the invalid values in its issues; they are needed for the messages. */
export const REPORT_INPUT_VALUES = { reportInput: true } as const;

/**
 * Returns an issue's message. A missing or empty value gets a message of its own, since clients rely on the `reason` that is
 * made from it.
 */
export function makeIssueText({ code, input, message }: Pick<z.core.$ZodIssue, 'code' | 'input' | 'message'>): string {
  if (input === undefined && code === 'invalid_value') return 'is required';
  if (input === '' && (code === 'invalid_format' || code === 'custom')) return 'must not be empty';
  return message;
}

/** Zod's messages for whole numbers beyond those that a double holds exactly, which precede the field's own limit. */
const UNSAFE_INTEGER_MESSAGES: readonly string[] = [
  `must be at most ${Number.MAX_SAFE_INTEGER}`,
  `must be at least ${Number.MIN_SAFE_INTEGER}`,
];

/** Selects the first problem of each of at most `maxProblems` fields: further ones only repeat it. */
export function selectFirstProblems(
  problems: Iterable<FieldProblem>,
  maxProblems = Number.POSITIVE_INFINITY,
): FieldProblem[] {
  const firstProblems = new Map<string, FieldProblem>();
  for (const problem of problems) {
    const knownProblem = firstProblems.get(problem.field);
    if (!knownProblem || UNSAFE_INTEGER_MESSAGES.includes(knownProblem.message))
      firstProblems.set(problem.field, problem);
    if (firstProblems.size === maxProblems) break;
  }
  return [...firstProblems.values()];
}

/** Maximum number of characters of the listed allowed values, and of the listed unknown names. */
const MAX_LISTED_CHARACTERS = 500;

/** Makes the English message for a field whose schema has none of its own; `texts/errors` translates it. */
function makeIssueMessage(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return Object.hasOwn(TYPE_WORDS, issue.expected) ? `must be ${TYPE_WORDS[issue.expected]}` : 'is not valid';
    case 'too_small':
      return describeMinimum(issue);
    case 'too_big':
      return describeMaximum(issue);
    case 'invalid_format':
      return FORMAT_WORDS[issue.format] ?? 'has not the expected form';
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : formatAllowedValues(issue.values);
    case 'unrecognized_keys':
      return `${UNKNOWN_FIELD_MESSAGE}: ${issue.keys
        .map((key) => JSON.stringify(key))
        .join(', ')
        .slice(0, MAX_LISTED_CHARACTERS)}`;
    case 'invalid_union':
      if (findDiscriminator(issue) === undefined) return 'is required';
      return Array.isArray(issue.options)
        ? formatAllowedValues(issue.options)
        : 'fits none of the forms that it can have';
    default:
      return 'is not valid';
  }
}

/** Returns the value's member that distinguishes the forms of a union, else the value itself. */
const findDiscriminator = ({ input, discriminator }: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): unknown =>
  typeof discriminator === 'string' && isRecord(input) ? input[discriminator] : input;

const formatAllowedValues = (values: readonly unknown[]): string =>
  values.length === 1
    ? `must be exactly ${values[0]}`
    : `must be one of ${values.join(', ').slice(0, MAX_LISTED_CHARACTERS)}`;

function describeMinimum({ origin, minimum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  const isOne = Number(minimum) === 1;
  if (origin === 'string') return isOne ? 'must not be empty' : `must have at least ${minimum} characters`;
  if (LIST_TYPES.includes(origin))
    return isOne ? 'must hold at least one entry' : `must hold at least ${minimum} entries`;
  return inclusive === false ? `must be more than ${minimum}` : `must be at least ${minimum}`;
}

function describeMaximum({ origin, maximum, inclusive }: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  if (origin === 'string') return `must have at most ${maximum} characters`;
  if (LIST_TYPES.includes(origin)) return `must hold at most ${maximum} entries`;
  return inclusive === false ? `must be less than ${maximum}` : `must be at most ${maximum}`;
}

const LIST_TYPES: readonly string[] = ['array', 'set', 'map', 'object', 'file'];

z.config({ customError: (issue) => makeIssueMessage(issue as Issue) });
