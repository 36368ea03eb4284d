import type { SuggestionStatus } from '../../../db/schema/knowledge-suggestions.ts';
import { defineFailure } from '../../../kernel/failure.ts';
import { aiInvalidOutput, aiNotConfigured, aiRefused, aiUnavailable } from '../../../platform/ai-failures.ts';

/** Also for a suggestion that its job has not published yet. */
export const suggestionNotFound = defineFailure('suggestion.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such suggestion.' },
  says: { console: 'SUGGESTION_NOT_FOUND' },
});

export const suggestionNotPending = defineFailure('suggestion.not_pending', {
  kind: 'conflict',
  describes: 'The suggestion is not pending any more.',
  detail: (status: SuggestionStatus) => ({
    message: `The suggestion is not pending any more: it is ${status}.`,
    status,
  }),
  says: { console: 'SUGGESTION_NOT_PENDING' },
});

/** @param ids the suggestions to accept first */
export const dependencyPending = defineFailure('suggestion.dependency_pending', {
  kind: 'conflict',
  describes: 'The suggestion depends on others that are still pending. Accept those in `details.suggestion_ids` first.',
  detail: (ids: string[]) => ({
    suggestion_ids: ids,
  }),
  says: { console: 'SUGGESTION_DEPENDENCY_PENDING' },
});

/** A field that changed since the model read the target. */
export interface Difference {
  field: string;
  /** When the suggestion was made. */
  before: unknown;
  now: unknown;
  /** Absent when the suggestion does not change the field. */
  suggested?: unknown;
}

export const suggestionStale = defineFailure('suggestion.stale', {
  kind: 'conflict',
  describes: 'The target has changed since the suggestion was made.',
  detail: (versions: { suggestedFor: number; current: number }, difference: Difference[]) => ({
    version_suggested_for: versions.suggestedFor,
    version_now: versions.current,
    difference,
  }),
  says: { console: 'SUGGESTION_STALE' },
});

/** An internal error among several acceptances, of which some may have succeeded. */
export const acceptanceInterrupted = defineFailure('suggestion.acceptance_interrupted', {
  kind: 'unavailable',
  detail: {
    message:
      'Something went wrong on our side, and the suggestion may or may not have been accepted. Get it again to see its status.',
  },
  says: { console: 'SERVICE_UNAVAILABLE' },
});

export const nothingProposed = defineFailure('ai.nothing_proposed', {
  kind: 'unavailable',
  detail: { message: 'The AI provider proposed no change.' },
  says: { console: { status: 502, code: 'AI_OUTPUT_INVALID' } },
});

/** The failures of asking the model about a resource. */
export const modelFailures = [aiNotConfigured, aiUnavailable, aiRefused, aiInvalidOutput, nothingProposed] as const;
