import { z } from 'zod';
import type { Context } from '../../context.ts';
import { prepared } from '../../http/endpoint.ts';
import { RESOURCE_METADATA_PATH } from '../../http/oauth-metadata.ts';
import { endpoint } from '../../http/surfaces/oauth.ts';
import { DEVICE_GRANT_TYPE } from './clients.ts';
import { DEFAULT_SCOPES } from './scopes.ts';
import type { Resource } from './store.ts';
import { getResourceAddress } from './tokens.ts';

const protectedResource = z
  .object({
    resource: z.url(),
    resource_name: z.string(),
    resource_documentation: z.url(),
    authorization_servers: z.array(z.url()),
    bearer_methods_supported: z.array(z.literal('header')),
    scopes_supported: z.array(z.string()),
  })
  .meta({ id: 'ProtectedResource' });

const authorizationServer = z
  .looseObject({ issuer: z.url(), authorization_endpoint: z.url(), token_endpoint: z.url() })
  .meta({ id: 'AuthorizationServer' });

/** Makes the endpoint of the protected resource metadata, which names the authorization server (RFC 9728). */
const makeResourceEndpoint = (
  resource: Resource,
  path: string,
  operationId: string,
  summary: string,
  description: string,
) =>
  endpoint(
    {
      method: 'get',
      path,
      openQuery: true,
      access: 'public',
      anyOrigin: true,
      operationId,
      summary,
      description: `${description} (RFC 9728). Names the authorization server; a token or a key that people hand over is taken as well.`,
      returns: prepared(protectedResource),
      fails: [],
    },
    ({ ctx }) => ({
      resource: getResourceAddress(ctx, resource),
      resource_name: 'Data Console',
      resource_documentation: `${ctx.baseUrl}/docs`,
      authorization_servers: [ctx.baseUrl],
      bearer_methods_supported: ['header' as const],
      scopes_supported: [...DEFAULT_SCOPES],
    }),
  );

/** Returns the authorization server metadata for clients (RFC 8414). */
const makeServerMetadata = ({ baseUrl }: Context) => ({
  issuer: baseUrl,
  authorization_endpoint: `${baseUrl}/oauth/authorize`,
  token_endpoint: `${baseUrl}/oauth/token`,
  registration_endpoint: `${baseUrl}/oauth/register`,
  revocation_endpoint: `${baseUrl}/oauth/revoke`,
  device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
  scopes_supported: [...DEFAULT_SCOPES],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_GRANT_TYPE, 'client_credentials'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  revocation_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  protected_resources: [baseUrl, `${baseUrl}/mcp`],
  service_documentation: `${baseUrl}/docs`,
  ui_locales_supported: ['en', 'pt-BR', 'es'],
});

export const oauthMetadataEndpoints = [
  endpoint(
    {
      method: 'get',
      path: '/.well-known/oauth-authorization-server',
      openQuery: true,
      access: 'public',
      anyOrigin: true,
      operationId: 'getAuthorizationServerMetadata',
      summary: 'Get the authorization server metadata',
      description: 'Where programs ask to be let in, and how (RFC 8414).',
      returns: prepared(authorizationServer),
      fails: [],
    },
    ({ ctx }) => makeServerMetadata(ctx),
  ),
  makeResourceEndpoint(
    'api',
    RESOURCE_METADATA_PATH,
    'getProtectedResourceMetadata',
    'Get the protected resource metadata',
    'For programs that call the API',
  ),
  makeResourceEndpoint(
    'mcp',
    `${RESOURCE_METADATA_PATH}/mcp`,
    'getMcpProtectedResourceMetadata',
    'Get the protected resource metadata of /mcp',
    'For agents that call `/mcp`',
  ),
];
