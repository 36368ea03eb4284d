import { z } from 'zod';
import type { Context } from '../../context.ts';
import { commit, type Statement } from '../../db/client.ts';
import { Failure } from '../../kernel/failure.ts';
import { newSecretToken } from '../../kernel/ids.ts';
import { decrypt, encrypt } from '../../platform/cipher.ts';
import { log, logError } from '../../platform/log.ts';
import { sha256Hex } from '../../platform/secrets.ts';
import type { Company } from '../companies/service.ts';
import { completeSignIn, type SignInResult } from '../sign-in/service.ts';
import {
  claimedEmail,
  noteVerified,
  prepareActiveUser,
  selectUser,
  selectUserByEmail,
  type User,
} from '../users/service.ts';
import { type Configuration, configurationOf, protocolOf, saml, serviceProvider } from './configuration.ts';
import { deadCode, notConfigured, redirectUriNotAllowed, refused, unknownState } from './failures.ts';
import type { AnswerMethod, Identity } from './protocol.ts';
import { deleteExpired, insertAssertion, insertCode, insertLogin, takeCode, takeLogin } from './store.ts';

export { renewClientSecrets } from './configuration.ts';

/** How long a person may take at the provider. */
const LOGIN_MS = 10 * 60 * 1000;
const CODE_MS = 60 * 1000;

/** A sign-in that was begun. */
export interface BegunSignIn {
  /** Where to send the person. */
  url: string;
  /** Only whoever has it can exchange the code that the sign-in ends with. */
  exchangeSecret: string;
}

/**
 * Begins a sign-in with the company's provider.
 * @throws Failure `company.not_found`, `sso.not_configured`, `sso.redirect_uri_not_allowed`, `sso.provider_unavailable`
 */
export async function startSignIn(ctx: Context, companySlug: string, redirectUri: string): Promise<BegunSignIn> {
  const { company, configuration } = await configurationOf(ctx, companySlug);
  if (!configuration.redirectUris.includes(redirectUri)) throw redirectUriNotAllowed();
  const protocol = await protocolOf(ctx, company, configuration);
  const state = newSecretToken();
  const { url, expectation } = await protocol.begin(state).catch((error) => {
    logError('sso_start_failed', rootOf(error), { company_id: company.id });
    throw new Failure('unavailable', 'sso.provider_unavailable');
  });
  const stateDigest = await sha256Hex(state);
  const exchangeSecret = newSecretToken();
  await commit(ctx.db, [
    insertLogin(ctx.db, {
      stateDigest,
      companyId: company.id,
      redirectUri,
      expectation: await encrypt(ctx.config.ENCRYPTION_KEYS, expectation, loginContext(company.id, stateDigest)),
      exchangeDigest: await sha256Hex(exchangeSecret),
      expiresAt: ctx.now() + LOGIN_MS,
    }),
  ]);
  return { url, exchangeSecret };
}

/**
 * Takes the provider's answer.
 * @returns where to send the person: the redirect_uri that the sign-in began with, with a `code` or an `error`
 * @throws Failure `company.not_found`, `sso.not_configured`, `sso.unknown_state`
 */
export async function finishSignIn(
  ctx: Context,
  companySlug: string,
  answer: URLSearchParams,
  method: AnswerMethod,
): Promise<string> {
  const { company, configuration } = await configurationOf(ctx, companySlug);
  const state = answer.get('state') ?? answer.get('RelayState');
  if (state === null) throw unknownState();
  const [login] = await takeLogin(ctx.db, company.id, await sha256Hex(state), ctx.now());
  if (!login) throw unknownState();
  const target = new URL(login.redirectUri);
  try {
    const keys = ctx.config.ENCRYPTION_KEYS;
    const expectation = await decrypt(keys, login.expectation, loginContext(company.id, login.stateDigest));
    const protocol = await protocolOf(ctx, company, configuration);
    const identity = await protocol.finish(state, expectation, answer, method).catch(asRefusal);
    target.searchParams.set('code', await issueCode(ctx, company, configuration, identity, login.exchangeDigest));
  } catch (error) {
    if (!(error instanceof Failure && error.reason.startsWith('sso.'))) throw error;
    const facts = { company_id: company.id, reason: error.reason };
    if (error.cause === undefined) log('sso_refused', facts);
    else logError('sso_refused', rootOf(error.cause), facts);
    target.searchParams.set('error', error.reason.slice('sso.'.length));
  }
  return target.href;
}

/**
 * Exchanges the code of a finished sign-in for a session, or for the question of the second factor. Whoever comes by somebody
 * else's code, or has a person come back with one of theirs, lacks the secret of the client that began.
 * @throws Failure `sso.dead_code`, `sign_in.user_not_active`
 */
export async function exchangeCode(
  ctx: Context,
  { code, exchangeSecret = '' }: { code: string; exchangeSecret?: string },
): Promise<SignInResult> {
  const digests = { code: await sha256Hex(code), exchange: await sha256Hex(exchangeSecret) };
  const [taken] = await takeCode(ctx.db, digests, ctx.now());
  if (!taken) throw deadCode();
  const [user] = await selectUser(ctx.db, taken.companyId, taken.userId);
  if (!user) throw deadCode();
  return completeSignIn(ctx, user, [noteVerified(ctx.db, user, ctx.now())]);
}

/** Our SAML metadata for the company's provider. @throws Failure `company.not_found`, `sso.not_configured` */
export async function metadataOf(ctx: Context, companySlug: string): Promise<string> {
  const { company, configuration } = await configurationOf(ctx, companySlug);
  if (configuration.provider.type !== 'saml') throw notConfigured();
  const { entityId, callbackUrl } = serviceProvider(ctx, company.slug);
  return (await saml()).serviceProviderMetadata(entityId, callbackUrl);
}

/** Forgets sign-ins, codes and assertions whose time is over. For the scheduled run. */
export async function purgeExpired(ctx: Context): Promise<void> {
  await commit(ctx.db, deleteExpired(ctx.db, ctx.now()));
}

/** The provider's answer was wrong, or the provider could not be asked: either ends the sign-in. */
function asRefusal(error: unknown): never {
  if (error instanceof Failure && error.reason.startsWith('sso.')) throw error;
  throw refused(error instanceof Failure ? 'provider_unavailable' : 'invalid_response', error);
}

/** What went wrong first: failures wrap the errors of libraries and of the network. */
const rootOf = (error: unknown): unknown =>
  error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error;

/** A one-time code for the user of this identity, who is made when the company wants that. */
async function issueCode(
  ctx: Context,
  company: Company,
  configuration: Configuration,
  identity: Identity,
  exchangeDigest: string | null,
): Promise<string> {
  const email = claimedEmail(identity.email);
  if (email === null) throw refused('email_missing');
  const [known] = await selectUserByEmail(ctx.db, company.id, email);
  if (!known && !configuration.jitProvisioning) throw refused('user_not_found');
  if (known && !known.isActive) throw refused('user_not_active');
  const name = personName.safeParse(identity.name).data;
  const made = known ? null : prepareActiveUser(ctx, company.id, { email, name, passwordHash: null });
  const user = (known ?? made?.record) as User;
  ctx.belongsTo(company.id, { type: 'user', id: user.id });

  const code = newSecretToken();
  const codeDigest = await sha256Hex(code);
  const statements: [Statement, ...Statement[]] = [
    insertCode(ctx.db, {
      codeDigest,
      companyId: company.id,
      userId: user.id,
      exchangeDigest,
      expiresAt: ctx.now() + CODE_MS,
    }),
  ];
  if (made) statements.push(made.statement);
  if (identity.once) statements.push(insertAssertion(ctx.db, await assertionOf(company.id, identity.once)));
  try {
    await commit(ctx.db, statements, {
      'sso_assertions.id_digest': () => refused('invalid_response', new Error('The assertion was used before.')),
      'users.email': userMadeMeanwhile,
    });
  } catch (error) {
    // Two first sign-ins of one person at once: the other one made the user, who is known from here on.
    if (error instanceof Failure && error.reason === userMadeMeanwhile().reason) {
      return issueCode(ctx, company, configuration, identity, exchangeDigest);
    }
    throw error;
  }
  return code;
}

const userMadeMeanwhile = () => new Failure('conflict', 'sso.user_made_meanwhile');

const assertionOf = async (companyId: string, { id, until }: { id: string; until: number }) => ({
  companyId,
  idDigest: await sha256Hex(id),
  expiresAt: until,
});

const personName = z.string().trim().min(1).max(200);

const loginContext = (companyId: string, stateDigest: string) => `sso-login:${companyId}:${stateDigest}`;
