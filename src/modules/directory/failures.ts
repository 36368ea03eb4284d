import { defineFailure, defineNotFoundFailure, type FailureDetail } from '../../kernel/failure.ts';
import { shorten } from '../../kernel/text.ts';

const MAX_ECHOED_CHARACTERS = 300;

const describeProblem =
  (subject: string) =>
  (problem: string): FailureDetail => ({ message: `The ${subject} ${shorten(problem, MAX_ECHOED_CHARACTERS)}.` });

/**
 * A filter cannot be read, or compares what cannot be compared. The problem is a sentence without its subject:
 * `lacks an operator`.
 */
export const invalidFilter = defineFailure('directory.invalid_filter', 'malformed', {
  message: 'The filter cannot be read, or asks for what cannot be compared.',
  detail: describeProblem('filter'),
  directory: 'invalidFilter',
});

export const invalidPath = defineFailure('directory.invalid_path', 'malformed', {
  message: 'A path cannot be read.',
  detail: describeProblem('path'),
  directory: 'invalidPath',
});

export const targetNotFound = defineFailure('directory.no_target', 'malformed', {
  message: 'An operation has a path that leads to nothing, or none where it needs one.',
  directory: 'noTarget',
});

export const invalidSyntax = defineFailure('directory.invalid_syntax', 'malformed', {
  message: 'The body is not what SCIM has in this place.',
  detail: describeProblem('body'),
});

/** An attribute has a wrong value, or none. @param problem a sentence, such as `userName must be an email address.` */
export const invalidValue = defineFailure('directory.invalid_value', 'malformed', {
  message: 'An attribute has a value that it cannot have, or lacks one.',
  detail: (problem: string): FailureDetail => ({ message: shorten(problem, MAX_ECHOED_CHARACTERS) }),
  directory: 'invalidValue',
});

export const readOnlyAttribute = defineFailure('directory.read_only', 'malformed', {
  message: 'This attribute cannot be changed.',
  detail: (name: string): FailureDetail => ({ message: `${shorten(name, MAX_ECHOED_CHARACTERS)} cannot be changed.` }),
  directory: 'mutability',
});

export const resourceTypeNotFound = defineNotFoundFailure('resource_type');
export const schemaNotFound = defineNotFoundFailure('schema');

export const globalGroupReadOnly = defineFailure('directory.global_group', 'forbidden', {
  message: 'A group that every company is born with cannot be changed by a directory.',
  directory: 'mutability',
});

export const filterNotSupported = defineFailure('directory.not_filtered', 'forbidden', {
  message: 'What SCIM can do here cannot be filtered.',
  detail: { field: 'filter', reason: 'not_filtered' },
});

export const tooManyMembers = defineFailure('directory.too_many_members', 'malformed', {
  message: 'The groups have too many members for one answer. Ask for fewer, or with `excludedAttributes=members`.',
  directory: 'tooMany',
});
