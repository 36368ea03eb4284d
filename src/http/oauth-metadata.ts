/** The path of the metadata that tells anybody how to authenticate, by RFC 9728: beneath it stands the path of the resource. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** The `WWW-Authenticate` of a 401, which leads a client to the metadata. @param path of the resource: empty for the whole API */
export const challengeOf =
  (path: '' | '/mcp') =>
  (baseUrl: string): string =>
    `Bearer resource_metadata="${baseUrl}${RESOURCE_METADATA_PATH}${path}"`;
