import { defineFailure } from '../../kernel/failure.ts';

/** Deliberately vague about what is wrong with the token. */
export const invalidSocialToken = defineFailure('social.invalid_token', {
  kind: 'unauthenticated',
  detail: {
    message:
      'The token is not a valid ID token of a provider of this company, or its email is not verified: where the provider does not say so, `trust_email` of the configuration decides.',
  },
  says: { console: 'INVALID_SOCIAL_TOKEN' },
});

/** The address belongs to another person at the provider now, or the user comes by another provider. */
export const anotherIdentity = defineFailure('social.another_identity', {
  kind: 'forbidden',
  detail: { message: 'This user signed in with another identity before. An administrator can remove that identity.' },
  says: { console: 'FORBIDDEN' },
});

export const providerKeysUnreadable = defineFailure('social.provider_keys_unreadable', {
  kind: 'unavailable',
  detail: { message: 'The keys of the identity provider could not be read.' },
  says: { console: 'SERVICE_UNAVAILABLE' },
});
