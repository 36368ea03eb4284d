import { defineFailure } from '../kernel/failure.ts';

export const aiNotConfigured = defineFailure('ai.not_configured', 'unavailable', {
  message: 'No AI provider is configured.',
  console: 'AI_PROVIDER_NOT_CONFIGURED',
});

/** The AI provider did not answer as it should. @param answer its answer; missing if it could not be reached in time */
export const aiUnavailable = defineFailure('ai.unavailable', 'unavailable', {
  message: 'The AI provider could not be reached in time, or failed to answer.',
  detail: (answer?: { status: number | undefined }) =>
    answer
      ? { message: 'The AI provider failed to answer.', status: answer.status }
      : { message: 'The AI provider could not be reached in time.' },
  console: 'AI_PROVIDER_UNAVAILABLE',
});

export const aiRefused = defineFailure('ai.refused', 'unavailable', {
  message: 'The AI provider refused the request.',
  detail: (status: number) => ({ message: `The AI provider refused the request (${status}).`, status }),
  console: { status: 502, code: 'AI_PROVIDER_REFUSED' },
});

export const aiInvalidOutput = defineFailure('ai.invalid_output', 'unavailable', {
  message: 'The answer of the AI provider is not valid.',
  console: { status: 502, code: 'AI_OUTPUT_INVALID' },
});
