import { defineFailure } from '../../../kernel/failure.ts';

/** The model could not be asked: it is away, refuses, or does not answer in time. */
export const providerFailed = defineFailure('ask.provider_failed', {
  kind: 'unavailable',
  detail: { message: 'The AI provider failed. Verified questions are still answered.', retryAfter: 30 },
  says: { console: 'AI_PROVIDER_FAILED' },
});

export const askedTooOften = defineFailure('ask.too_often', {
  kind: 'too_many',
  describes: 'Too many questions within a minute.',
  detail: (seconds: number) => ({ retryAfter: seconds }),
  says: { console: 'RateLimitExceeded' },
});

export const askedQuestionNotFound = defineFailure('asked_question.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such question, or it is no longer kept.' },
  says: { console: 'ASKED_QUESTION_NOT_FOUND' },
});

export const nothingToAccept = defineFailure('asked_question.not_answered', {
  kind: 'conflict',
  detail: { message: 'The question was not answered: there is no query to accept.' },
  says: { console: 'ASKED_QUESTION_NOT_ANSWERED' },
});
