import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { type FieldProblem, invalid } from '../../kernel/failure.ts';
import { addressProblem } from '../../kernel/public-address.ts';
import { trustProblem } from '../../platform/openid.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { companyBySlug } from '../companies/service.ts';
import { prepareNoticesToAdministrators } from '../mails/service.ts';
import { completeSignIn, requireSsoOptional, type SignInResult, userNotActive } from '../sign-in/service.ts';
import {
  claimedEmail,
  recordVerified,
  selectUser,
  selectUserByEmail,
  type User,
  userNotFound,
} from '../users/service.ts';
import { anotherIdentity, invalidSocialToken } from './failures.ts';
import { type IdTokenClaims, OLDEST_TOKEN_SECONDS, verifyIdToken } from './id-token.ts';
import {
  deleteIdentity,
  deleteOldUsedTokens,
  type Identity,
  insertUsedToken,
  pinIdentity,
  putSocialConfiguration,
  type SocialProvider,
  selectIdentity,
  selectSocialConfiguration,
} from './store.ts';

export type { SocialProvider };

/** The providers of the caller's company. */
export async function getSocialProviders(ctx: PrincipalContext): Promise<SocialProvider[]> {
  return providersOf(ctx, ctx.actor.companyId);
}

/** Replaces the providers of the caller's company. */
export async function putSocialProviders(
  ctx: PrincipalContext,
  providers: SocialProvider[],
): Promise<SocialProvider[]> {
  const problems = providers.flatMap((provider, index) =>
    problemsOf(provider, index, ctx.config.ALLOW_PRIVATE_ISSUERS),
  );
  if (problems.length > 0) throw invalid(problems);
  const notices = await prepareNoticesToAdministrators(ctx, 'social_changed');
  const record = { companyId: ctx.actor.companyId, providers, updatedAt: ctx.now() };
  await commit(ctx.db, { configuration: putSocialConfiguration(ctx.db, record), notices: notices.statements });
  notices.send();
  return providers;
}

/**
 * Signs in with an ID token of one of the company's providers. A token works once. The first one pins the user's identity at
 * the provider: another person who gets the same address there later cannot sign in as the user.
 */
export async function signInWithIdToken(
  ctx: Context,
  input: { companySlug: string; idToken: string },
): Promise<SignInResult> {
  const company = await companyBySlug(ctx, input.companySlug);
  const claims = await verifyIdToken(ctx, await providersOf(ctx, company.id), input.idToken);
  const { email, isEmailVerified } = claims;
  const address = claimedEmail(email);
  if (address === null || !isEmailVerified) throw invalidSocialToken();
  const [user] = await selectUserByEmail(ctx.db, company.id, address);
  requireSsoOptional(company, user);
  // The same answer for an unknown user and an inactive one.
  if (!user?.isActive) throw userNotActive();
  await useToken(ctx, user, claims, input.idToken);
  return completeSignIn(ctx, user, [recordVerified(ctx.db, user, ctx.now())]);
}

/** Pins the user's identity and marks the token as used, unless the token shows another identity. */
async function useToken(ctx: Context, user: User, { issuer, subject }: IdTokenClaims, token: string): Promise<void> {
  const now = ctx.now();
  const identity = { userId: user.id, companyId: user.companyId, issuer, subject, createdAt: now };
  const [known] = await selectIdentity(ctx.db, user.companyId, user.id);
  if (known) requireSame(known, identity);
  // Without the signature: some algorithms allow anybody to write another valid one.
  const digest = await sha256Hex(token.slice(0, token.lastIndexOf('.')));
  const {
    identity: [pinned],
  } = await commit(
    ctx.db,
    {
      token: insertUsedToken(ctx.db, digest, now + 2 * OLDEST_TOKEN_SECONDS * 1000),
      pin: pinIdentity(ctx.db, identity),
      identity: selectIdentity(ctx.db, user.companyId, user.id),
    },
    { 'spent_social_tokens.digest': invalidSocialToken },
  );
  requireSame(pinned as Identity, identity);
}

function requireSame(pinned: Identity, { issuer, subject }: Identity): void {
  if (pinned.issuer !== issuer || pinned.subject !== subject) throw anotherIdentity();
}

/** Deletes a user's pinned identity: the next social sign-in pins one again. */
export async function deleteUserIdentity(ctx: PrincipalContext, userId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const {
    user: [user],
  } = await commit(ctx.db, {
    user: selectUser(ctx.db, companyId, userId),
    identity: deleteIdentity(ctx.db, companyId, userId),
  });
  if (!user) throw userNotFound();
}

/** Deletes the records of used tokens that are too old to be accepted anyway. For the scheduled run. */
export async function purgeUsedTokens(ctx: Context): Promise<void> {
  await deleteOldUsedTokens(ctx.db, ctx.now());
}

async function providersOf(ctx: Context, companyId: string): Promise<SocialProvider[]> {
  const [configuration] = await selectSocialConfiguration(ctx.db, companyId);
  return configuration?.providers ?? [];
}

function problemsOf(
  { issuer, jwksUri, trustEmail = false }: SocialProvider,
  index: number,
  allowPrivate: boolean,
): FieldProblem[] {
  const addresses = [
    { field: `providers.${index}.issuer`, message: addressProblem(issuer, allowPrivate) },
    { field: `providers.${index}.trust_email`, message: trustProblem(issuer, trustEmail) },
    { field: `providers.${index}.jwks_uri`, message: jwksUri === null ? null : addressProblem(jwksUri, allowPrivate) },
  ];
  return addresses.filter((problem): problem is FieldProblem => problem.message !== null);
}
