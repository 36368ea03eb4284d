import { z } from 'zod';
import { companySuspended } from '../../access/failures.ts';
import type { Context } from '../../context.ts';
import { accessNotChanged } from '../../db/failures.ts';
import { created, prepared, raw } from '../../http/endpoint.ts';
import { bodyTooLarge } from '../../http/failures.ts';
import { FORM_MEDIA_TYPE, type FormFields, readForm } from '../../http/forms.ts';
import { endpoint } from '../../http/surfaces/oauth.ts';
import { isInvalidInput } from '../../kernel/failure.ts';
import { tooManyAttempts } from '../sign-in/failures.ts';
import { countRegistration, DEVICE_GRANT_TYPE, registerClient, registration, toMetadataFailure } from './clients.ts';
import { startDeviceAuthorization } from './devices.ts';
import {
  authorizationPending,
  consentDenied,
  deviceExpired,
  invalidClient,
  invalidClientMetadata,
  invalidGrant,
  invalidRedirectUri,
  invalidRequest,
  invalidScope,
  invalidTarget,
  slowDown,
  unsupportedGrantType,
  unsupportedTokenType,
} from './failures.ts';
import {
  exchangeCode,
  exchangeDeviceCode,
  type IssuedTokens,
  issueServiceAccountTokens,
  refreshTokens,
  revokeToken,
  useGrantCode,
} from './tokens.ts';
import { deviceView, tokensView, viewDevice, viewTokens } from './views.ts';

const formFailures = [invalidRequest, invalidTarget, bodyTooLarge] as const;

/** Reads a form. @param checkUniqueParameters gets the parameters that occur once, before a form with repeated ones is refused */
const receiveForm = (
  request: Request,
  checkUniqueParameters?: (uniqueParameters: FormFields) => Promise<void>,
): Promise<FormFields> =>
  readForm(request, {
    makeNotFormFailure: () => invalidRequest(`Send a form: \`Content-Type: ${FORM_MEDIA_TYPE}\`.`),
    async makeRepeatedFieldFailure(name, single) {
      await checkUniqueParameters?.(single);
      return name === 'resource' ? invalidTarget() : invalidRequest('A parameter stands there twice.');
    },
  });

/** Returns a required parameter. @throws invalidRequest if it is missing */
function requireFormParameter(form: FormFields, name: string): string {
  const value = form[name];
  if (value === undefined) throw invalidRequest(`\`${name}\` is missing.`);
  return value;
}

/** Reads the client's id and secret of a form: from the header or the body (RFC 6749, section 2.3.1), not from both. */
function readClientCredentials(request: Request, form: FormFields): { id: string; secret: string } | null {
  const [, basic] = /^Basic +([\w+/=-]+)$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  const { client_id: id, client_secret: secret } = form;
  if (basic === undefined) return id !== undefined && secret !== undefined ? { id, secret } : null;
  if (secret !== undefined) throw invalidRequest('A client shows its secret in one way.');
  try {
    const [name = '', ...rest] = atob(basic).split(':');
    const decodeFormValue = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
    return { id: decodeFormValue(name), secret: decodeFormValue(rest.join(':')) };
  } catch {
    throw invalidRequest('The Authorization header is malformed.');
  }
}

const text = z.string().optional();

const tokenForm = z.object({
  grant_type: z.string(),
  client_id: text,
  client_secret: text,
  code: text,
  redirect_uri: text,
  code_verifier: text,
  refresh_token: text,
  device_code: text,
  scope: text,
  resource: text,
});

/** Issues tokens to a client for an authorization code, a refresh token or another grant type. */
async function exchangeForTokens(ctx: Context, request: Request, form: FormFields): Promise<IssuedTokens> {
  switch (form.grant_type) {
    case 'authorization_code':
      return exchangeCode(ctx, requireFormParameter(form, 'code'), form);
    case 'refresh_token':
      return refreshTokens(ctx, requireFormParameter(form, 'refresh_token'), form);
    case DEVICE_GRANT_TYPE:
      return exchangeDeviceCode(ctx, requireFormParameter(form, 'device_code'), form);
    case 'client_credentials': {
      const clientCredentials = readClientCredentials(request, form);
      if (clientCredentials === null) throw invalidClient();
      return issueServiceAccountTokens(ctx, clientCredentials, form);
    }
    default:
      await endCode(ctx, form);
      requireFormParameter(form, 'grant_type');
      throw unsupportedGrantType();
  }
}

/** Ends the code of an exchange that is refused for its form, as of any that fails. */
async function endCode(ctx: Context, { code }: FormFields): Promise<void> {
  if (code !== undefined) await useGrantCode(ctx, code);
}

export const oauthTokenEndpoints = [
  endpoint(
    {
      method: 'post',
      path: '/oauth/token',
      recordedAs: 'oauth:token',
      access: 'public',
      anyOrigin: true,
      operationId: 'getOAuthTokens',
      summary: 'Get tokens',
      description:
        'For an authorization code (60 seconds, once, with PKCE), a refresh token (30 days; rotated, and ended with its grant when it is used twice), a device code, or the key of a service account and its secret. Access tokens work for ten minutes, and no longer than their grant.',
      raw: { [FORM_MEDIA_TYPE]: tokenForm },
      returns: prepared(tokensView),
      fails: [
        ...formFailures,
        invalidClient,
        invalidGrant,
        invalidScope,
        unsupportedGrantType,
        authorizationPending,
        slowDown,
        consentDenied,
        deviceExpired,
        companySuspended,
        accessNotChanged,
      ],
    },
    async ({ ctx, request }) => {
      const form = await receiveForm(request, (uniqueParameters) => endCode(ctx, uniqueParameters));
      return viewTokens(await exchangeForTokens(ctx, request, form));
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/oauth/revoke',
      recordedAs: 'oauth:revoke',
      access: 'public',
      anyOrigin: true,
      operationId: 'revokeOAuthToken',
      summary: 'Revoke a token',
      description:
        'Ends the grant of an access or refresh token, with all its tokens (RFC 7009). Unknown tokens are no failure.',
      raw: {
        [FORM_MEDIA_TYPE]: z.object({ token: z.string(), token_type_hint: text, client_id: z.string() }),
      },
      returns: raw(200, 'Nothing.'),
      fails: [...formFailures, invalidGrant, unsupportedTokenType],
    },
    async ({ ctx, request }) => {
      const form = await receiveForm(request);
      await revokeToken(ctx, requireFormParameter(form, 'token'), form.client_id);
      return new Response(null);
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/oauth/device_authorization',
      recordedAs: 'oauth:device_authorization',
      access: 'public',
      anyOrigin: true,
      operationId: 'beginDeviceAuthorization',
      summary: 'Begin the device flow',
      description:
        'For a program without a browser: it shows the `user_code`, which somebody types at `verification_uri` within ten minutes, and asks POST /oauth/token with the `device_code` every `interval` seconds (RFC 8628).',
      raw: {
        [FORM_MEDIA_TYPE]: z.object({ client_id: z.string(), scope: text, resource: text }),
      },
      returns: prepared(deviceView),
      fails: [...formFailures, invalidClient, invalidScope],
    },
    async ({ ctx, request }) => {
      const form = await receiveForm(request);
      const device = await startDeviceAuthorization(ctx, requireFormParameter(form, 'client_id'), form);
      const verificationUri = `${ctx.baseUrl}/oauth/device`;
      const verificationUriComplete = `${verificationUri}?user_code=${device.userCode}`;
      return viewDevice({ ...device, verificationUri, verificationUriComplete });
    },
  ),
  endpoint(
    {
      method: 'post',
      path: '/oauth/register',
      recordedAs: 'oauth:register',
      access: 'public',
      anyOrigin: true,
      operationId: 'registerOAuthClient',
      summary: 'Register a client',
      description:
        'Without a secret (RFC 7591): whatever is asked, `token_endpoint_auth_method` is `none`. Ten tries an hour from an address; forgotten after 30 days without use.',
      body: registration,
      async wrapBodyRead(ctx, readBody) {
        await countRegistration(ctx);
        await readBody().catch((error) => {
          throw isInvalidInput(error) ? toMetadataFailure(error) : error;
        });
      },
      returns: created(
        z.looseObject({
          client_id: z.string(),
          client_id_issued_at: z.int(),
          client_name: z.string(),
          redirect_uris: z.array(z.string()),
          grant_types: z.array(z.string()),
          response_types: z.array(z.string()),
          token_endpoint_auth_method: z.literal('none'),
        }),
      ),
      fails: [invalidRedirectUri, invalidClientMetadata, invalidRequest, tooManyAttempts],
    },
    async ({ ctx, body }) => {
      const { clientId, name, redirectUris, createdAt } = await registerClient(ctx, body);
      return {
        client_id: clientId,
        client_id_issued_at: Math.floor(createdAt / 1000),
        client_name: name,
        redirect_uris: redirectUris,
        grant_types: ['authorization_code', 'refresh_token', DEVICE_GRANT_TYPE],
        response_types: redirectUris.length > 0 ? ['code'] : [],
        token_endpoint_auth_method: 'none' as const,
      };
    },
  ),
];
