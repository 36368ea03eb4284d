import {
  AuthorizationResponseError,
  type AuthorizationServer,
  authorizationCodeGrantRequest,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  calculatePKCECodeChallenge,
  generateRandomCodeVerifier,
  generateRandomNonce,
  getValidatedIdTokenClaims,
  processAuthorizationCodeResponse,
  processUserInfoResponse,
  type TokenEndpointResponse,
  userInfoRequest,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi';
import { requireCanonicalJwt } from '../../platform/jwt.ts';
import {
  authorizationEndpoint,
  discover,
  isDomainOwnerVerified,
  isEmailVerified,
  providerRequestOptions,
} from '../../platform/openid.ts';
import { EMAIL_NOT_VERIFIED, SignInRefusal } from './failures.ts';
import type { Identity, Protocol } from './protocol.ts';

interface Expectation {
  nonce: string;
  codeVerifier: string;
}

/** OpenID Connect by authorization code with PKCE, state and nonce. `callbackUrl` is our redirect_uri at the provider. */
export function createOidcProtocol(provider: {
  issuer: string;
  clientId: string;
  clientSecret: string;
  callbackUrl: string;
  trustEmail?: boolean;
  allowPrivate: boolean;
}): Protocol {
  const client: Client = { client_id: provider.clientId };
  const { callbackUrl, trustEmail = false, allowPrivate } = provider;
  return {
    async begin(state) {
      const server = await discover(provider.issuer, allowPrivate);
      const expectation: Expectation = { nonce: generateRandomNonce(), codeVerifier: generateRandomCodeVerifier() };
      const url = authorizationEndpoint(server, allowPrivate);
      const parameters = {
        response_type: 'code',
        client_id: provider.clientId,
        redirect_uri: callbackUrl,
        scope: 'openid email profile',
        state,
        nonce: expectation.nonce,
        code_challenge: await calculatePKCECodeChallenge(expectation.codeVerifier),
        code_challenge_method: 'S256',
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return { url: url.href, expectation: JSON.stringify(expectation) };
    },

    async finish(state, expected, answer) {
      const { nonce, codeVerifier } = JSON.parse(expected) as Expectation;
      const server = await discover(provider.issuer, allowPrivate);
      const tokenAnswer = await authorizationCodeGrantRequest(
        server,
        client,
        chooseClientAuthentication(server, provider.clientSecret),
        validateGrant(server, client, answer, state),
        callbackUrl,
        codeVerifier,
        providerRequestOptions(allowPrivate),
      );
      const tokens = await processAuthorizationCodeResponse(server, client, tokenAnswer, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      requireCanonicalJwt(tokens.id_token ?? '');
      await validateApplicationLevelSignature(server, tokenAnswer, providerRequestOptions(allowPrivate));
      return toIdentity(await readClaims(server, client, tokens, allowPrivate), trustEmail);
    },
  };
}

/** The grant in the answer, if it belongs to this sign-in and provider. */
function validateGrant(
  server: AuthorizationServer,
  client: Client,
  answer: URLSearchParams,
  state: string,
): URLSearchParams {
  try {
    return validateAuthResponse(server, client, answer, state);
  } catch (error) {
    throw error instanceof AuthorizationResponseError ? new SignInRefusal('access_denied', error) : error;
  }
}

/** HTTP Basic is the default of the standard; the form is for providers that accept nothing else. */
function chooseClientAuthentication(server: AuthorizationServer, secret: string) {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}

type Claims = Record<string, unknown>;

/** The claims of the ID token, with those of the userinfo endpoint where the token does not say of an email that it is verified. */
async function readClaims(
  server: AuthorizationServer,
  client: Client,
  tokens: TokenEndpointResponse,
  allowPrivate: boolean,
): Promise<Claims> {
  const claims = getValidatedIdTokenClaims(tokens);
  if (!claims) throw new Error('The token endpoint answered no ID token.');
  const isComplete = claims.email !== undefined && isEmailVerified(claims) !== undefined;
  if (isComplete || !server.userinfo_endpoint) return claims;
  const answer = await userInfoRequest(server, client, tokens.access_token, providerRequestOptions(allowPrivate));
  const more: Claims = await processUserInfoResponse(server, client, claims.sub, answer);
  // What it says of another address than the token has is not about this one.
  return claims.email === undefined || claims.email === more.email ? { ...more, ...claims } : claims;
}

function toIdentity(claims: Claims, trustEmail: boolean): Identity {
  if (!(isEmailVerified(claims) ?? isDomainOwnerVerified(claims) ?? trustEmail)) {
    throw new SignInRefusal('email_not_verified', new Error(EMAIL_NOT_VERIFIED));
  }
  return { email: claims.email, name: claims.name };
}
