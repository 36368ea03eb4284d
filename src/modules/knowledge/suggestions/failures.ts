import { quotaExceeded } from '../../../db/failures.ts';
import type { SuggestionStatus } from '../../../db/schema/knowledge-suggestions.ts';
import { defineFailure, defineNotFoundFailure } from '../../../kernel/failure.ts';
import { aiInvalidOutput, aiNotConfigured, aiRefused, aiUnavailable } from '../../../platform/ai-failures.ts';

/** There is no such suggestion; also thrown for a suggestion that its job has not published yet. */
export const suggestionNotFound = defineNotFoundFailure('suggestion');

export const suggestionNotPending = defineFailure('suggestion.not_pending', 'conflict', {
  message: 'The suggestion is not pending any more.',
  detail: (status: SuggestionStatus) => ({
    message: `The suggestion is not pending any more: it is ${status}.`,
    status,
  }),
  console: 'SUGGESTION_NOT_PENDING',
});

/**
 * A suggestion depends on suggestions that were not accepted.
 * @param ids the suggestions that must be accepted first
 */
export const dependencyPending = defineFailure('suggestion.dependency_pending', 'conflict', {
  message: 'The suggestion depends on others that have not been accepted: those in `details.suggestion_ids`.',
  detail: (ids: string[]) => ({ suggestion_ids: ids }),
  console: 'SUGGESTION_DEPENDENCY_PENDING',
});

/** A field that changed since the model read the target. */
export interface Difference {
  field: string;
  /** The value when the suggestion was made. */
  before: unknown;
  /** The value at present. */
  now: unknown;
  /** The suggested value; absent when the suggestion does not change the field. */
  suggested?: unknown;
}

export const suggestionStale = defineFailure('suggestion.stale', 'conflict', {
  message: 'The target has changed since the suggestion was made.',
  detail: (versions: { suggestedForVersion: number; currentVersion: number }, difference: Difference[]) => ({
    version_suggested_for: versions.suggestedForVersion,
    version_now: versions.currentVersion,
    difference,
  }),
  console: 'SUGGESTION_STALE',
});

/** The internal error when several acceptances were interrupted, of which some may have succeeded. */
export const acceptanceInterrupted = defineFailure('suggestion.acceptance_interrupted', 'unavailable', {
  message:
    'Something went wrong on our side, and the suggestion may or may not have been accepted. Get it again to see its status.',
});

export const nothingProposed = defineFailure('ai.nothing_proposed', 'unavailable', {
  message: 'The AI provider proposed no change.',
  console: { status: 502, code: 'AI_OUTPUT_INVALID' },
});

/** The failures of asking the model about a resource. */
export const modelFailures = [
  aiNotConfigured,
  aiUnavailable,
  aiRefused,
  aiInvalidOutput,
  nothingProposed,
  quotaExceeded,
] as const;
