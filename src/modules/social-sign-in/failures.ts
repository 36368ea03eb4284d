import { Failure } from '../../kernel/failure.ts';

/** Whatever is wrong with the token, whoever sends it learns no more. */
export const invalidSocialToken = () =>
  new Failure('unauthenticated', 'social.invalid_token', {
    message: 'The token is not a valid ID token of a provider of this company, or its email is not verified.',
  });

export const keysNotRight = () =>
  new Failure('unavailable', 'social.keys_not_right', {
    message: 'The keys of the identity provider could not be read.',
  });
