import { z } from 'zod';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { quotaExceeded, retryOnConcurrentChange } from '../../db/failures.ts';
import { MINUTE_MS } from '../../kernel/clock.ts';
import { Failure } from '../../kernel/failure.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { log, logError } from '../../platform/log.ts';
import { computeSha256Hex } from '../../platform/secrets.ts';
import type { Company } from '../companies/service.ts';
import { completeSignIn, type SignInResult } from '../sign-in/service.ts';
import {
  emailTaken,
  markEmailVerified,
  normalizeClaimedEmail,
  prepareActiveUser,
  selectUser,
  selectUserByEmail,
  type User,
} from '../users/service.ts';
import {
  type Configuration,
  createProtocol,
  loadSaml,
  makeServiceProvider,
  readCompanyAndConfiguration,
} from './configuration.ts';
import {
  EMAIL_NOT_VERIFIED_ADVICE,
  invalidSsoCode,
  providerUnavailable,
  redirectUriNotAllowed,
  SignInRefusal,
  ssoNotConfigured,
  unknownState,
} from './failures.ts';
import type { CallbackMethod, Identity } from './protocol.ts';
import {
  consumeCode,
  consumeLogin,
  deleteExpired,
  insertAssertion,
  insertCode,
  insertLogin,
  selectCompanyOfCode,
  selectConfiguration,
} from './store.ts';

export { reencryptClientSecrets } from './configuration.ts';

/** The time that a user has to sign in at the provider. */
const LOGIN_TIMEOUT_MS = 10 * MINUTE_MS;
const CODE_LIFETIME_MS = MINUTE_MS;

/** The path of our own page after a sign-in: it need not be listed among the redirect URIs of a configuration. */
export const SIGNED_IN_PAGE_PATH = '/oauth/signed-in';

/** Begins a sign-in. @returns the URL to open at the provider, and the secret needed to exchange the code at the end */
export async function startSignIn(ctx: Context, companySlug: string, redirectUri: string) {
  const { company, configuration } = await readCompanyAndConfiguration(ctx, companySlug);
  const isAllowed =
    configuration.redirectUris.includes(redirectUri) || redirectUri === `${ctx.baseUrl}${SIGNED_IN_PAGE_PATH}`;
  if (!isAllowed) throw redirectUriNotAllowed();
  const protocol = await createProtocol(ctx, company, configuration);
  const state = newSecretToken();
  const { url, expectation } = await protocol.beginSignIn(state).catch((error) => {
    logError('sso_start_failed', findRootCause(error), { company_id: company.id });
    throw providerUnavailable();
  });
  const stateDigest = await computeSha256Hex(state);
  const exchangeSecret = newSecretToken();
  await insertLogin(ctx.db, {
    stateDigest,
    companyId: company.id,
    redirectUri,
    expectation: await encrypt(ctx.config.ENCRYPTION_KEYS, expectation, makeLoginContext(company.id, stateDigest)),
    exchangeDigest: await computeSha256Hex(exchangeSecret),
    expiresAt: ctx.now() + LOGIN_TIMEOUT_MS,
  });
  return { url, exchangeSecret };
}

/** Verifies the provider's answer. @returns the redirect_uri that the sign-in began with, with a `code` or an `error` */
export async function finishSignIn(
  ctx: Context,
  companySlug: string,
  answer: URLSearchParams,
  method: CallbackMethod,
): Promise<string> {
  const { company, configuration } = await readCompanyAndConfiguration(ctx, companySlug);
  const state = answer.get('state') ?? answer.get('RelayState');
  if (state === null) throw unknownState();
  const [login] = await consumeLogin(ctx.db, company.id, await computeSha256Hex(state), ctx.now());
  if (!login) throw unknownState();
  const redirectTarget = new URL(login.redirectUri);
  try {
    const keys = ctx.config.ENCRYPTION_KEYS;
    const expectation = await decrypt(keys, login.expectation, makeLoginContext(company.id, login.stateDigest));
    const protocol = await createProtocol(ctx, company, configuration);
    const identity = await protocol.finishSignIn(state, expectation, answer, method).catch(refuseSignIn);
    redirectTarget.searchParams.set(
      'code',
      await issueCode(ctx, company, configuration, identity, login.exchangeDigest),
    );
  } catch (error) {
    if (!(error instanceof SignInRefusal)) throw error;
    const logFields = { company_id: company.id, reason: error.reason };
    if (error.cause === undefined) log('sso_refused', logFields);
    else logError('sso_refused', findRootCause(error.cause), logFields);
    redirectTarget.searchParams.set('error', error.reason);
    if (error.reason === 'email_not_verified')
      redirectTarget.searchParams.set('error_description', EMAIL_NOT_VERIFIED_ADVICE);
  }
  return redirectTarget.href;
}

/**
 * Exchanges the code of a finished sign-in for a session, or for the request of the second factor. Only the client that began the
 * sign-in has the exchange secret: a stolen code, or one planted by an attacker, is worthless.
 */
export async function exchangeCode(
  ctx: Context,
  { code, exchangeSecret = '' }: { code: string; exchangeSecret?: string },
): Promise<SignInResult> {
  const digests = { codeDigest: await computeSha256Hex(code), exchangeDigest: await computeSha256Hex(exchangeSecret) };
  const {
    companies: [company],
    codes: [takenCode],
  } = await commit(ctx.db, {
    companies: selectCompanyOfCode(ctx.db, digests, ctx.now()),
    codes: consumeCode(ctx.db, digests, ctx.now()),
  });
  if (company) {
    ctx.setOwner(company.id);
    requireActiveCompany(company);
  }
  if (!takenCode) throw invalidSsoCode();
  const [user] = await selectUser(ctx.db, takenCode.companyId, takenCode.userId);
  if (!user) throw invalidSsoCode();
  return completeSignIn(ctx, user, [markEmailVerified(ctx.db, user, ctx.now())], {
    isSso: true,
    sessionEpoch: takenCode.sessionEpoch,
  });
}

/** Tells whether a company has an identity provider. */
export const hasSingleSignOn = async (ctx: Context, companyId: string): Promise<boolean> =>
  (await selectConfiguration(ctx.db, companyId)).length > 0;

/** Returns our SAML metadata for the company's provider. */
export async function readMetadata(ctx: Context, companySlug: string): Promise<string> {
  const { company, configuration } = await readCompanyAndConfiguration(ctx, companySlug);
  if (configuration.provider.type !== 'saml') throw ssoNotConfigured();
  const { entityId, callbackUrl } = makeServiceProvider(ctx, company.slug);
  return (await loadSaml()).formatMetadata(entityId, callbackUrl);
}

/** Deletes expired sign-ins, codes and assertions. For the scheduled run. */
export async function purgeExpired(ctx: Context): Promise<void> {
  await commit(ctx.db, { expired: deleteExpired(ctx.db, ctx.now()) });
}

/** Rejects the sign-in, because the provider's answer was wrong or the provider could not be reached. */
function refuseSignIn(error: unknown): never {
  if (error instanceof SignInRefusal) throw error;
  throw new SignInRefusal(error instanceof Failure ? 'provider_unavailable' : 'invalid_response', error);
}

/** Finds the innermost cause of an error: that of the library or the network. */
const findRootCause = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? findRootCause(error.cause) : error;

/** Issues a one-time code for the user of an identity; creates the user where the company allows it. */
const issueCode = (
  ctx: Context,
  company: Company,
  configuration: Configuration,
  identity: Identity,
  exchangeDigest: string | null,
): Promise<string> =>
  retryOnConcurrentChange(async () => {
    const email = normalizeClaimedEmail(identity.email);
    if (email === null) throw new SignInRefusal('email_missing');
    const [knownUser] = await selectUserByEmail(ctx.db, company.id, email);
    if (!knownUser && !configuration.jitProvisioning) throw new SignInRefusal('user_not_found');
    const name = personNameField.safeParse(identity.name).data;
    const newUser = knownUser ? null : prepareActiveUser(ctx, company.id, { email, name, passwordHash: null });
    const user = (knownUser ?? newUser?.record) as User;
    ctx.setOwner(company.id, { type: 'user', id: user.id });
    if (!user.isActive) throw new SignInRefusal('user_not_active');

    const code = newSecretToken();
    const record = {
      codeDigest: await computeSha256Hex(code),
      companyId: company.id,
      userId: user.id,
      exchangeDigest,
      sessionEpoch: user.sessionEpoch,
      expiresAt: ctx.now() + CODE_LIFETIME_MS,
    };
    const { singleUseAssertion } = identity;
    try {
      await commit(
        ctx.db,
        {
          code: insertCode(ctx.db, record),
          user: newUser ? [newUser.statement] : [],
          assertion: singleUseAssertion
            ? [
                insertAssertion(ctx.db, {
                  companyId: company.id,
                  idDigest: await computeSha256Hex(singleUseAssertion.id),
                  expiresAt: singleUseAssertion.validUntil,
                }),
              ]
            : [],
        },
        { 'sso_assertions.id_digest': createAssertionReuseError, 'users.email': emailTaken },
      );
      return code;
    } catch (error) {
      // Another first sign-in of the same person has created the user meanwhile.
      if (emailTaken.matches(error)) return undefined;
      if (quotaExceeded.matches(error)) throw new SignInRefusal('quota_exceeded');
      throw error;
    }
  });

const createAssertionReuseError = () =>
  new SignInRefusal('invalid_response', new Error('The assertion was used before.'));

const personNameField = z.string().trim().min(1).max(200);

const makeLoginContext = (companyId: string, stateDigest: string) => `sso-login:${companyId}:${stateDigest}`;
