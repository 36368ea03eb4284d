import { defineFailure, defineNotFoundFailure } from '../../../kernel/failure.ts';

/** The model could not be asked: it is unavailable, refuses, or does not respond in time. */
export const providerFailed = defineFailure('ask.provider_failed', 'unavailable', {
  message: 'The AI provider failed. Verified questions are still answered.',
  detail: { retryAfter: 30 },
  console: 'AI_PROVIDER_FAILED',
});

export const askedTooOften = defineFailure('ask.too_often', 'too_many', {
  message: 'Too many questions within a minute.',
  detail: (seconds: number) => ({ retryAfter: seconds }),
});

export const askedQuestionNotFound = defineNotFoundFailure('asked_question', {
  message: 'There is no such question, or it is no longer kept.',
});

export const nothingToAccept = defineFailure('asked_question.not_answered', 'conflict', {
  message: 'The question was not answered: there is no query to accept.',
  console: 'ASKED_QUESTION_NOT_ANSWERED',
});
