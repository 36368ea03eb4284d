import { Failure } from '../../kernel/failure.ts';

/** Whatever is wrong with the token, whoever sends it learns no more. @param cause for debugging; never shown */
export const invalidSocialToken = (cause?: unknown) =>
  Object.assign(
    new Failure('unauthenticated', 'social.invalid_token', {
      message: 'The token is not a valid ID token of a provider of this company, or its email is not verified.',
    }),
    { cause },
  );
