import type { SuggestionStatus } from '../../../db/schema/knowledge-suggestions.ts';
import { Failure } from '../../../kernel/failure.ts';

/** The company has no suggestion under the id, or it is kept back by its job. */
export const suggestionNotFound = () =>
  new Failure('missing', 'suggestion.not_found', { message: 'There is no such suggestion.' });

/** It was decided about, or replaced; `status` is what it is. */
export const notPending = (status: SuggestionStatus) =>
  new Failure('conflict', 'suggestion.not_pending', {
    message: `The suggestion is not pending any more: it is ${status}.`,
    status,
  });

/** A relation between nodes of which some are only suggested; `waitingFor` are the suggestions to accept first. */
export const dependencyPending = (waitingFor: string[]) =>
  new Failure('conflict', 'suggestion.dependency_pending', {
    message: 'The relation connects nodes that are only suggested: accept these first.',
    suggestion_ids: waitingFor,
  });

/** A member that changed since the model saw the target. */
export interface Difference {
  field: string;
  /** When the suggestion was made. */
  before: unknown;
  now: unknown;
  /** What the suggestion would make of it; absent when it leaves the member alone. */
  suggested?: unknown;
}

/** The target is not what the model saw: the two versions, and what differs between them. */
export const stale = (versions: { suggested_for: number; current: number }, difference: Difference[]) =>
  new Failure('conflict', 'suggestion.stale', {
    message: 'The target has changed since the suggestion was made.',
    version_suggested_for: versions.suggested_for,
    version_now: versions.current,
    difference,
  });

/** The model left everything as it is. */
export const nothingProposed = () =>
  new Failure('unavailable', 'ai.nothing_proposed', { message: 'The AI provider proposed no change.' });

/** There is no key for a provider. */
export const aiNotConfigured = () => new Failure('unavailable', 'ai.not_configured');

export const acceptanceBrokeOff = () =>
  new Failure('unavailable', 'suggestion.acceptance_broke_off', {
    message: 'Something went wrong on our side before this was certain. Look at it again.',
  });
