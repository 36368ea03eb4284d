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
  discoverProvider,
  getAuthorizationEndpoint,
  isDomainOwnerVerified,
  isEmailVerified,
  makeProviderRequestOptions,
} from '../../platform/openid.ts';
import { normalizeClaimedEmail } from '../users/service.ts';
import { EMAIL_NOT_VERIFIED_ADVICE, SignInRefusal } from './failures.ts';
import type { Identity, Protocol } from './protocol.ts';

interface Expectation {
  nonce: string;
  codeVerifier: string;
}

/** Creates the protocol of OpenID Connect by authorization code with PKCE, state and nonce. */
export function createOidcProtocol(provider: {
  issuer: string;
  clientId: string;
  clientSecret: string;
  callbackUrl: string;
  trustEmail?: boolean;
  allowPrivateHosts: boolean;
}): Protocol {
  const client: Client = { client_id: provider.clientId };
  const { callbackUrl, trustEmail = false, allowPrivateHosts } = provider;
  return {
    async beginSignIn(state) {
      const server = await discoverProvider(provider.issuer, allowPrivateHosts);
      const expectation: Expectation = { nonce: generateRandomNonce(), codeVerifier: generateRandomCodeVerifier() };
      const url = getAuthorizationEndpoint(server, allowPrivateHosts);
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

    async finishSignIn(state, expected, answer) {
      const { nonce, codeVerifier } = JSON.parse(expected) as Expectation;
      const server = await discoverProvider(provider.issuer, allowPrivateHosts);
      const tokenAnswer = await authorizationCodeGrantRequest(
        server,
        client,
        chooseClientAuthentication(server, provider.clientSecret),
        validateGrant(server, client, answer, state),
        callbackUrl,
        codeVerifier,
        makeProviderRequestOptions(allowPrivateHosts),
      );
      const tokens = await processAuthorizationCodeResponse(server, client, tokenAnswer, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      requireCanonicalJwt(tokens.id_token ?? '');
      await validateApplicationLevelSignature(server, tokenAnswer, makeProviderRequestOptions(allowPrivateHosts));
      return toIdentity(await readClaims(server, client, tokens, allowPrivateHosts), trustEmail);
    },
  };
}

/** Returns the grant in the answer, if the answer belongs to this sign-in and provider. */
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

/** Chooses how we authenticate: HTTP Basic, the standard's default, or the form where the provider accepts nothing else. */
function chooseClientAuthentication(server: AuthorizationServer, secret: string) {
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return methods.includes('client_secret_basic') ? ClientSecretBasic(secret) : ClientSecretPost(secret);
}

type Claims = Record<string, unknown>;

/** Reads the claims of the ID token, completed from the userinfo endpoint where it does not say that its email is verified. */
async function readClaims(
  server: AuthorizationServer,
  client: Client,
  tokens: TokenEndpointResponse,
  allowPrivateHosts: boolean,
): Promise<Claims> {
  const tokenClaims = getValidatedIdTokenClaims(tokens);
  if (!tokenClaims) throw new Error('The token endpoint answered no ID token.');
  // Some providers send null for what they do not know.
  const claims: Claims = Object.fromEntries(Object.entries(tokenClaims).filter(([, claim]) => claim !== null));
  const isComplete = claims.email !== undefined && isEmailVerified(claims) !== undefined;
  if (isComplete || !server.userinfo_endpoint) return claims;
  const answer = await userInfoRequest(
    server,
    client,
    tokens.access_token,
    makeProviderRequestOptions(allowPrivateHosts),
  );
  const userInfoClaims: Claims = await processUserInfoResponse(server, client, tokenClaims.sub, answer);
  // What it says of another address than the token has is not about this one.
  const isSameAddress = normalizeClaimedEmail(claims.email) === normalizeClaimedEmail(userInfoClaims.email);
  return claims.email === undefined || isSameAddress ? { ...userInfoClaims, ...claims } : claims;
}

function toIdentity(claims: Claims, trustEmail: boolean): Identity {
  if (!(isEmailVerified(claims) ?? isDomainOwnerVerified(claims) ?? trustEmail)) {
    throw new SignInRefusal('email_not_verified', new Error(EMAIL_NOT_VERIFIED_ADVICE));
  }
  return { email: claims.email, name: claims.name };
}
