import type { Context, UserContext } from '../../context.ts';
import { Failure, type FieldProblem, invalid } from '../../kernel/failure.ts';
import { addressProblem } from '../../kernel/public-address.ts';
import { companyBySlug } from '../companies/service.ts';
import { completeSignIn, type SignInResult } from '../sign-in/complete.ts';
import { noteVerified, selectUserByEmail } from '../users/service.ts';
import { invalidSocialToken } from './failures.ts';
import { verifyIdToken } from './id-token.ts';
import { putSocialConfiguration, type SocialProvider, selectSocialConfiguration } from './store.ts';

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
  await putSocialConfiguration(ctx.db, { companyId: ctx.actor.companyId, providers, updatedAt: ctx.now() });
  return providers;
}

/**
 * Signs in with an ID token of one of the company's providers.
 * @throws Failure `company.not_found`, `social.invalid_token`, `sign_in.user_not_active` (unknown users too), `outbound.*`
 */
export async function signInWithIdToken(
  ctx: Context,
  input: { companySlug: string; idToken: string },
): Promise<SignInResult> {
  const company = await companyBySlug(ctx, input.companySlug);
  const claims = await verifyIdToken(ctx, await providersOf(ctx, company.id), input.idToken);
  const { email, email_verified: verified } = claims;
  // Some providers write the boolean as a string.
  if (typeof email !== 'string' || (verified !== true && verified !== 'true')) throw invalidSocialToken();
  const [user] = await selectUserByEmail(ctx.db, company.id, email.trim().toLowerCase());
  if (!user) throw unknownUser();
  return completeSignIn(ctx, user, [noteVerified(ctx.db, user, ctx.now())]);
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

/** The same fact as an inactive user: this person may not sign in to the company. */
const unknownUser = () =>
  new Failure('forbidden', 'sign_in.user_not_active', { message: 'This user may not sign in to the company.' });
