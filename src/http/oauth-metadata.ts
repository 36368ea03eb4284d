import type { Actor } from '../access/actors.ts';
import { findNeededScopes } from '../access/evaluation.ts';
import { accessDenied, invalidToken } from '../access/failures.ts';
import type { Action } from '../permissions/actions.ts';
import { makeResourceArn } from '../permissions/arn.ts';

/** Path of the metadata that tells how to authenticate, by RFC 9728: the path of the resource follows it. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Makes the `WWW-Authenticate` of a 401, which points to the metadata. @param path of the resource: empty for the whole API */
export const makeChallenge =
  (path: '' | '/mcp') =>
  (baseUrl: string): string =>
    `Bearer resource_metadata="${baseUrl}${RESOURCE_METADATA_PATH}${path}"`;

/**
 * Finds the error that a challenge names (RFC 6750, section 3.1): `invalid_token`, or `insufficient_scope` with the scopes that
 * an OAuth client would need. Null if the request was rejected for another reason.
 */
export function findTokenError(failure: Error, actor: Actor | null, authorization = ''): string | null {
  if (invalidToken.matches(failure)) return /^Bearer +\S/i.test(authorization) ? 'error="invalid_token"' : null;
  if (!accessDenied.matches(failure) || !actor || !('access' in actor)) return null;
  const { action, resource } = failure.detail as { action: Action; resource?: string };
  const scopes = findNeededScopes(actor.access, action, resource ?? makeResourceArn(action, actor.companyId));
  return scopes && `error="insufficient_scope", scope="${scopes.join(' ')}"`;
}
