/** Where anybody learns how to prove who they are, by RFC 9728: beneath it stands the path of the resource. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** What a 401 says to who can find the way from there. @param path of the resource: empty for the whole API */
export const challengeOf =
  (path: '' | '/mcp') =>
  (baseUrl: string): string =>
    `Bearer resource_metadata="${baseUrl}${RESOURCE_METADATA_PATH}${path}"`;
