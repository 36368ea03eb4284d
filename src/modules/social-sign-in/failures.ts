import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';

/** The token is not valid. Deliberately vague about the reason. */
export const invalidSocialToken = defineFailure('social.invalid_token', 'unauthenticated', {
  message:
    'The token is not a valid ID token of a provider of this company, or its email is not verified: where the provider does not say so, `trust_email` of the configuration decides.',
  console: 'INVALID_SOCIAL_TOKEN',
});

/**
 * The identity is not the one pinned to the user: another person now has the address at the provider, or the provider differs.
 */
export const identityMismatch = defineFailure('social.another_identity', 'forbidden', {
  message: 'This user signed in with another identity before. An administrator can remove that identity.',
});

export const providerKeysUnreadable = defineFailure('social.provider_keys_unreadable', 'unavailable', {
  message: 'The keys of the identity provider could not be read.',
});

export const socialProviderNotFound = defineNotFoundFailure('social_provider', {
  message: 'The company has no such social provider.',
});

/** The provider issues ID tokens only to servers that authenticate with a client secret, and a configuration has none. */
export const providerNeedsClientSecret = defineFailure('social.no_tokens_for_pages', 'conflict', {
  message:
    'This identity provider issues no ID tokens to pages (`response_type=id_token`): configure it for single sign-on instead.',
  console: 'SOCIAL_PROVIDER_UNSUITABLE',
});
