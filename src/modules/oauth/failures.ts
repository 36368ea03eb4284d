import { defineFailure, defineNotFoundFailureBy, type FieldProblem } from '../../kernel/failure.ts';

/** Defines an OAuth failure with the protocol's error code; `reason` and the field problems are for client developers. */
const defineProtocolFailure = (code: string, message: string, status = 400) =>
  defineFailure(`oauth.${code}`, 'invalid', {
    message,
    detail: (reason?: string, problems?: FieldProblem[]) => ({
      ...(reason !== undefined && { message: reason }),
      ...(problems && { problems }),
    }),
    oauth: { status, code },
  });

export const invalidRequest = defineProtocolFailure('invalid_request', 'The request is not as the protocol wants it.');
export const invalidGrant = defineProtocolFailure(
  'invalid_grant',
  'The code or token is wrong, expired, used already, or not for this client. Ask the person again.',
);
export const invalidScope = defineProtocolFailure(
  'invalid_scope',
  'Scopes are actions such as `managed-tables:data-read`, and patterns of them such as `semantic:*`: at most 100, each of which fits an action.',
);
export const invalidTarget = defineProtocolFailure(
  'invalid_target',
  '`resource` must be the address of this API or of its `/mcp`, and stand there once.',
);
export const unsupportedResponseType = defineProtocolFailure(
  'unsupported_response_type',
  '`response_type` must be `code`.',
);
export const requestNotSupported = defineProtocolFailure('request_not_supported', 'Send the parameters themselves.');
export const interactionRequired = defineProtocolFailure('interaction_required', 'The person has to be asked.');
export const consentDenied = defineProtocolFailure('access_denied', 'The person did not let the program in.');
export const unsupportedGrantType = defineProtocolFailure(
  'unsupported_grant_type',
  'This `grant_type` is not supported.',
);
export const unsupportedTokenType = defineProtocolFailure(
  'unsupported_token_type',
  'This token ends by itself within ten minutes, or with the key that it was made for.',
);
export const authorizationPending = defineProtocolFailure(
  'authorization_pending',
  'Nobody has let the program in yet. Ask again.',
);
export const slowDown = defineProtocolFailure('slow_down', 'Ask less often: wait five seconds longer each time.');
export const deviceExpired = defineProtocolFailure('expired_token', 'The device code has expired.');
export const invalidRedirectUri = defineProtocolFailure(
  'invalid_redirect_uri',
  'Redirects are https addresses, http addresses of the own machine, or those of an app, without fragment or user name.',
);
export const invalidClientMetadata = defineProtocolFailure(
  'invalid_client_metadata',
  'The description of the client is not valid.',
);

export const invalidClient = defineFailure('oauth.invalid_client', 'unauthenticated', {
  message: 'There is no such client, or its secret is wrong.',
});

/** The consent request was answered already, has expired, or was not created here. */
export const requestEnded = defineFailure('oauth.request_ended', 'conflict', {
  message: 'This was answered already, or has expired. Begin again in the program that asked.',
  console: 'OAUTH_REQUEST_ENDED',
});

export const wrongUserCode = defineFailure('oauth.wrong_user_code', 'invalid', {
  message: 'The code is wrong, has expired, or was used already.',
  detail: { field: 'user_code' },
  console: { status: 400, code: 'INVALID_CODE' },
});

/** Used internally to count a registration against the limit of its address; it is never returned to a client. */
export const registrationCounted = defineFailure('oauth.registration_counted', 'too_many', {
  message: 'This registration counts.',
});

export const otherCompanysClient = defineFailure('oauth.other_companys_client', 'forbidden', {
  message: 'This program was registered for people of another company.',
});

export const oauthClientNotFound = defineNotFoundFailureBy('oauth_client', ['id'], {
  message: 'There is no such client.',
});
export const oauthGrantNotFound = defineNotFoundFailureBy('oauth_grant', ['id'], {
  message: 'There is no such grant, or it has ended.',
});

export const tooManyClients = defineFailure('oauth_client.too_many', 'conflict', {
  message: 'A company can register 200 clients. Delete one first.',
  console: 'OAUTH_CLIENT_LIMIT',
});
