import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import type { FailureKind } from '../../kernel/failure.ts';
import { createEndpointFunction } from '../endpoint.ts';
import { RESOURCE_METADATA_PATH } from '../oauth-metadata.ts';
import { type FamilyWording, INTERNAL_ERROR, type Surface } from '../surface.ts';

/** Declares an endpoint that OAuth clients call to be authorized; failures are worded as in the RFCs. */
export const endpoint = createEndpointFunction<Principal>();

const INVALID_REQUEST_WORDING: FamilyWording = { status: 400, code: 'invalid_request' };

const FAMILIES: Record<FailureKind, FamilyWording> = {
  invalid: INVALID_REQUEST_WORDING,
  malformed: INVALID_REQUEST_WORDING,
  too_large: { ...INVALID_REQUEST_WORDING, status: 413 },
  unauthenticated: { code: 'invalid_client' },
  forbidden: { code: 'access_denied' },
  missing: { code: 'not_found' },
  conflict: { code: 'conflict' },
  too_many: { code: 'slow_down' },
  unavailable: { code: 'temporarily_unavailable' },
};

/** Lists the problem of each field as a sentence: the protocol has no other place for it. */
const listFields = (details: unknown): string[] =>
  Array.isArray(details) ? details.map(({ field, message }) => `"${field}" ${message}.`.replaceAll('"', "'")) : [];

export const surface: Surface = {
  name: 'oauth',
  title: 'OAuth',
  description:
    'How people let programs in: an authorization server by OAuth 2.1. Programs find it from `/.well-known/oauth-protected-resource`.',
  credential: 'bearer',
  basePaths: ['/oauth', '/.well-known/oauth-authorization-server', RESOURCE_METADATA_PATH],
  formatChallenge: () => 'Basic realm="oauth"',
  wordedAs: 'oauth',
  families: FAMILIES,
  defaultLanguage: 'en',
  hasOneLanguage: true,
  codeField: 'error',
  errorBody: z
    .object({ error: z.string().meta({ examples: ['invalid_grant'] }), error_description: z.string() })
    .meta({ id: 'OAuthError' }),
  makeErrorBody: ({ code, message, details }) => ({
    error: code,
    error_description: [message, ...listFields(details)].join(' '),
  }),
  internalError: { code: 'server_error', message: INTERNAL_ERROR },
};
