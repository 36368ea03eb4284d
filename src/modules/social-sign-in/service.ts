import { generateRandomNonce, generateRandomState } from 'oauth4webapi';
import { isUnrestricted } from '../../access/evaluation.ts';
import { administratorsOnly } from '../../access/failures.ts';
import { writeWithoutEscalation } from '../../access/grants.ts';
import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { type FieldProblem, invalidInput } from '../../kernel/failure.ts';
import { findUrlProblem } from '../../kernel/public-address.ts';
import { discoverProvider, findTrustProblem, getAuthorizationEndpoint } from '../../platform/openid.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import { getActiveCompanyBySlug } from '../companies/service.ts';
import { prepareNoticesToAdministrators } from '../mails/service.ts';
import { completeSignIn, requireSsoOptional, type SignInResult, userNotActive } from '../sign-in/service.ts';
import { SIGNED_IN_PAGE_PATH } from '../single-sign-on/service.ts';
import {
  markEmailVerified,
  normalizeClaimedEmail,
  selectUser,
  selectUserByEmail,
  type User,
  userNotFound,
} from '../users/service.ts';
import { identityMismatch, invalidSocialToken, providerNeedsClientSecret, socialProviderNotFound } from './failures.ts';
import { type IdTokenClaims, MAX_TOKEN_AGE_SECONDS, verifyIdToken } from './id-token.ts';
import {
  deleteIdentity,
  deleteOldUsedTokens,
  insertUsedToken,
  pinIdentity,
  putSocialConfiguration,
  type SocialProvider,
  selectIdentity,
  selectSocialConfiguration,
  type UserIdentity,
} from './store.ts';

export type { SocialProvider };

/** Replaces the providers of the caller's company. */
export async function putSocialProviders(
  ctx: PrincipalContext,
  providers: SocialProvider[],
): Promise<SocialProvider[]> {
  const problems = providers.flatMap((provider, index) =>
    findProblems(provider, index, ctx.config.ALLOW_PRIVATE_ISSUERS),
  );
  if (problems.length > 0) throw invalidInput(problems);
  const notices = await prepareNoticesToAdministrators(ctx, 'social_changed');
  const record = { companyId: ctx.actor.companyId, providers, updatedAt: ctx.now() };
  await commit(ctx.db, { configuration: putSocialConfiguration(ctx.db, record), notices: notices.statements });
  notices.send();
  return providers;
}

/** Reads the issuers by which users of a company can sign in on our own page. */
export const readIssuers = async (ctx: Context, companyId: string): Promise<string[]> => [
  ...new Set((await readProviders(ctx, companyId)).map(({ issuer }) => issuer)),
];

/**
 * Begins a sign-in on our own page: the provider redirects back to that page with an ID token in the fragment, which no
 * server sees. A code would have to be exchanged with a client secret, which a configuration does not have.
 * @returns the URL at the provider to open, and what its answer must repeat: `state` beside the token, `nonce` in it
 */
export async function beginProviderSignIn(ctx: Context, companySlug: string, issuer: string) {
  const company = await getActiveCompanyBySlug(ctx, companySlug);
  // The first of an issuer is meant for pages: the audiences of apps know no address to lead back to.
  const provider = (await readProviders(ctx, company.id)).find(
    (configuredProvider) => configuredProvider.issuer === issuer,
  );
  if (!provider) throw socialProviderNotFound();
  const { ALLOW_PRIVATE_ISSUERS: allowPrivateHosts } = ctx.config;
  const server = await discoverProvider(issuer, allowPrivateHosts);
  if (!server.response_types_supported?.includes('id_token')) throw providerNeedsClientSecret();
  const url = getAuthorizationEndpoint(server, allowPrivateHosts);
  const [state, nonce] = [generateRandomState(), generateRandomNonce()];
  const parameters = {
    response_type: 'id_token',
    response_mode: 'fragment',
    client_id: provider.audience,
    redirect_uri: `${ctx.baseUrl}${SIGNED_IN_PAGE_PATH}`,
    scope: 'openid email profile',
    state,
    nonce,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url: url.href, state, nonce };
}

/**
 * Signs in with an ID token of one of the company's providers. A token works once. A user's first token pins the user's identity
 * at the provider: another person who gets the same address there later cannot sign in as the user.
 */
export async function signInWithIdToken(
  ctx: Context,
  input: { companySlug: string; idToken: string },
): Promise<SignInResult> {
  const company = await getActiveCompanyBySlug(ctx, input.companySlug);
  const { claims, address } = await verifyCompanyIdToken(ctx, company.id, input.idToken).catch((error) => {
    // Whose token it was meant to be is not known.
    if (invalidSocialToken.matches(error)) requireSsoOptional(company, undefined);
    throw error;
  });
  const [user] = await selectUserByEmail(ctx.db, company.id, address);
  if (user) ctx.setOwner(company.id, { type: 'user', id: user.id });
  requireSsoOptional(company, user);
  // The same answer for an unknown user and an inactive one.
  if (!user?.isActive) throw userNotActive();
  await useToken(ctx, user, claims, input.idToken);
  return completeSignIn(ctx, user, [markEmailVerified(ctx.db, user, ctx.now())]);
}

async function verifyCompanyIdToken(ctx: Context, companyId: string, token: string) {
  const claims = await verifyIdToken(ctx, await readProviders(ctx, companyId), token);
  const address = normalizeClaimedEmail(claims.email);
  if (address === null || !claims.isEmailVerified) throw invalidSocialToken();
  return { claims, address };
}

/** Pins the user's identity and marks the token as used, unless the token shows another identity. */
async function useToken(ctx: Context, user: User, { issuer, subject }: IdTokenClaims, token: string): Promise<void> {
  const now = ctx.now();
  const identity = { userId: user.id, companyId: user.companyId, issuer, subject, createdAt: now };
  const [knownIdentity] = await selectIdentity(ctx.db, user.companyId, user.id);
  if (knownIdentity) requireSameIdentity(knownIdentity, identity);
  // Without the signature: some algorithms allow anybody to write another valid one.
  const digest = await computeSha256Hex(token.slice(0, token.lastIndexOf('.')));
  const {
    identity: [pinned],
  } = await commit(
    ctx.db,
    {
      token: insertUsedToken(ctx.db, digest, now + 2 * MAX_TOKEN_AGE_SECONDS * 1000),
      pin: pinIdentity(ctx.db, identity),
      identity: selectIdentity(ctx.db, user.companyId, user.id),
    },
    { 'spent_social_tokens.digest': invalidSocialToken },
  );
  requireSameIdentity(pinned as UserIdentity, identity);
}

function requireSameIdentity(pinnedIdentity: UserIdentity, { issuer, subject }: UserIdentity): void {
  if (pinnedIdentity.issuer !== issuer || pinnedIdentity.subject !== subject) throw identityMismatch();
}

/**
 * Deletes a user's pinned identity: the next social sign-in pins one again. The identity of a user who may do more than the
 * caller stays: whoever then has that user's address at the provider could sign in as that user.
 */
export async function deleteUserIdentity(ctx: PrincipalContext, userId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const [user] = await selectUser(ctx.db, companyId, userId);
  if (!user) throw userNotFound();
  if (user.isOwner && !isUnrestricted(ctx.actor.access)) throw administratorsOnly();
  await writeWithoutEscalation(ctx, { principalType: 'user', principalId: userId }, () =>
    commit(ctx.db, { identity: deleteIdentity(ctx.db, companyId, userId) }),
  );
}

/** Deletes the records of used tokens that are too old to be accepted. For the scheduled run. */
export async function purgeUsedTokens(ctx: Context): Promise<void> {
  await deleteOldUsedTokens(ctx.db, ctx.now());
}

/** Reads the providers of a company. */
export async function readProviders(ctx: Context, companyId: string): Promise<SocialProvider[]> {
  const [configuration] = await selectSocialConfiguration(ctx.db, companyId);
  return configuration?.providers ?? [];
}

function findProblems(
  { issuer, jwksUri, trustEmail = false }: SocialProvider,
  index: number,
  allowPrivateHosts: boolean,
): FieldProblem[] {
  const messages = {
    issuer: findUrlProblem(issuer, allowPrivateHosts),
    trust_email: findTrustProblem(issuer, trustEmail),
    jwks_uri: jwksUri === null ? null : findUrlProblem(jwksUri, allowPrivateHosts),
  };
  return Object.entries(messages).flatMap(([name, message]) =>
    message === null ? [] : [{ field: `providers.${index}.${name}`, message }],
  );
}
