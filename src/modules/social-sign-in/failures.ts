import { Failure } from '../../kernel/failure.ts';

/** Whatever is wrong with the token, whoever sends it learns no more. */
export const invalidSocialToken = () =>
  new Failure('unauthenticated', 'social.invalid_token', {
    message: 'The token is not a valid ID token of a provider of this company, or its email is not verified.',
  });

/** Somebody else has this address at the provider now, or the person comes by another provider. */
export const anotherIdentity = () =>
  new Failure('forbidden', 'social.another_identity', {
    message: 'This user signed in with another identity before. An administrator can lift that.',
  });

export const keysNotRight = () =>
  new Failure('unavailable', 'social.keys_not_right', {
    message: 'The keys of the identity provider could not be read.',
  });
