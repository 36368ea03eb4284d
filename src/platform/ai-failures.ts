import { defineFailure } from '../kernel/failure.ts';

export const aiNotConfigured = defineFailure('ai.not_configured', {
  kind: 'unavailable',
  detail: { message: 'No AI provider is configured.' },
  says: { console: 'AI_PROVIDER_NOT_CONFIGURED' },
});

/** @param answer what the provider answered; without one it could not be reached in time */
export const aiUnavailable = defineFailure('ai.unavailable', {
  kind: 'unavailable',
  describes: 'The AI provider could not be reached in time, or failed to answer.',
  detail: (answer?: { status: number | undefined }) =>
    answer
      ? { message: 'The AI provider failed to answer.', status: answer.status }
      : { message: 'The AI provider could not be reached in time.' },
  says: { console: 'AI_PROVIDER_UNAVAILABLE' },
});

export const aiRefused = defineFailure('ai.refused', {
  kind: 'unavailable',
  describes: 'The AI provider refused the request.',
  detail: (status: number) => ({ message: `The AI provider refused the request (${status}).`, status }),
  says: { console: { status: 502, code: 'AI_PROVIDER_REFUSED' } },
});

export const aiInvalidOutput = defineFailure('ai.invalid_output', {
  kind: 'unavailable',
  detail: { message: 'The answer of the AI provider is not valid.' },
  says: { console: { status: 502, code: 'AI_OUTPUT_INVALID' } },
});
