import type { Context, UserContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { Failure, type FieldProblem, invalid } from '../../kernel/failure.ts';
import { addressProblem } from '../../kernel/public-address.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import { companyBySlug } from '../companies/service.ts';
import { prepareNoticesToAdministrators } from '../mails/service.ts';
import { completeSignIn, requireWayBesideSso, type SignInResult } from '../sign-in/service.ts';
import {
  claimedEmail,
  noteVerified,
  selectUser,
  selectUserByEmail,
  type User,
  userNotFound,
} from '../users/service.ts';
import { anotherIdentity, invalidSocialToken } from './failures.ts';
import { type IdTokenClaims, OLDEST_TOKEN_SECONDS, verifyIdToken } from './id-token.ts';
import {
  deleteIdentity,
  deleteSpentTokens,
  type Identity,
  pinIdentity,
  putSocialConfiguration,
  type SocialProvider,
  selectIdentity,
  selectSocialConfiguration,
  spendToken,
} from './store.ts';

export type { SocialProvider };

/** The providers of the caller's company. */
export async function getSocialProviders(ctx: UserContext): Promise<SocialProvider[]> {
  return providersOf(ctx, ctx.actor.companyId);
}

/**
 * Sets the providers of the caller's company, in place of those before.
 * @throws Failure invalid, naming the members at fault
 */
export async function putSocialProviders(ctx: UserContext, providers: SocialProvider[]): Promise<SocialProvider[]> {
  const problems = providers.flatMap((provider, index) =>
    problemsOf(provider, index, ctx.config.ALLOW_PRIVATE_ISSUERS),
  );
  if (problems.length > 0) throw invalid(problems);
  const notices = await prepareNoticesToAdministrators(ctx, 'social_changed');
  const record = { companyId: ctx.actor.companyId, providers, updatedAt: ctx.now() };
  await commit(ctx.db, [putSocialConfiguration(ctx.db, record), ...notices.statements]);
  notices.send();
  return providers;
}

/**
 * Signs in with an ID token of one of the company's providers. A token works once. The first one pins who the user is to the
 * provider, so that whoever gets the same address there later is not taken for them.
 * @throws Failure `company.not_found`, `social.invalid_token`, `social.another_identity`, `sign_in.sso_required`,
 *   `sign_in.user_not_active` (unknown users too), `outbound.*`
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
  requireWayBesideSso(company, user);
  if (!user?.isActive) throw mayNotSignIn();
  await takeToken(ctx, user, claims, input.idToken);
  return completeSignIn(ctx, user, [noteVerified(ctx.db, user, ctx.now())]);
}

/** Spends a token on the user's sign-in, if it is from whom the user is to the provider. One that is refused is not spent. */
async function takeToken(ctx: Context, user: User, { issuer, subject }: IdTokenClaims, token: string): Promise<void> {
  const now = ctx.now();
  const identity = { userId: user.id, companyId: user.companyId, issuer, subject, createdAt: now };
  const [known] = await selectIdentity(ctx.db, user.companyId, user.id);
  if (known) requireSame(known, identity);
  // What is signed is the token: signatures of some algorithms can be written anew by anybody.
  const signed = token.slice(0, token.lastIndexOf('.'));
  const spent = spendToken(ctx.db, await sha256Hex(signed), now + 2 * OLDEST_TOKEN_SECONDS * 1000);
  const [, , [pinned]] = await commit(
    ctx.db,
    [spent, pinIdentity(ctx.db, identity), selectIdentity(ctx.db, user.companyId, user.id)],
    { 'spent_social_tokens.digest': invalidSocialToken },
  );
  requireSame(pinned as Identity, identity);
}

function requireSame(pinned: Identity, { issuer, subject }: Identity): void {
  if (pinned.issuer !== issuer || pinned.subject !== subject) throw anotherIdentity();
}

/** Forgets who a user is to a provider: the next social sign-in pins it anew. @throws Failure `user.not_found` */
export async function liftIdentities(ctx: UserContext, userId: string): Promise<void> {
  const { companyId } = ctx.actor;
  const [[user]] = await commit(ctx.db, [
    selectUser(ctx.db, companyId, userId),
    deleteIdentity(ctx.db, companyId, userId),
  ]);
  if (!user) throw userNotFound();
}

/** The scheduled run's part: forgets tokens that are too old to be accepted. */
export async function purgeSpentTokens(ctx: Context): Promise<void> {
  await deleteSpentTokens(ctx.db, ctx.now());
}

async function providersOf(ctx: Context, companyId: string): Promise<SocialProvider[]> {
  const [configuration] = await selectSocialConfiguration(ctx.db, companyId);
  return configuration?.providers ?? [];
}

function problemsOf({ issuer, jwksUri }: SocialProvider, index: number, allowPrivate: boolean): FieldProblem[] {
  const addresses = [
    { field: `providers.${index}.issuer`, message: addressProblem(issuer, allowPrivate) },
    { field: `providers.${index}.jwks_uri`, message: jwksUri === null ? null : addressProblem(jwksUri, allowPrivate) },
  ];
  return addresses.filter((problem): problem is FieldProblem => problem.message !== null);
}

/** Unknown and inactive users are the same fact: this person may not sign in to the company. */
const mayNotSignIn = () =>
  new Failure('forbidden', 'sign_in.user_not_active', { message: 'This user may not sign in to the company.' });
