import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, UserContext } from '../../context.ts';
import { commit, countChangedRows, readTogether } from '../../db/client.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { getActiveCompanyBySlug, selectCompany } from '../companies/service.ts';
import {
  prepareSecurityConsequences,
  prepareSession,
  type Reauthentication,
  requireSsoOptional,
  runWithOwnFactor,
  type StartedSession,
  sessionsEnded,
  userNotActive,
} from '../sign-in/service.ts';
import { endSignInsInProgress } from '../users/service.ts';
import {
  makeAuthenticationOptions,
  makeRegistrationOptions,
  makeUserHandle,
  verifyAuthentication,
  verifyRegistration,
} from './ceremonies.ts';
import { invalidPasskey, passkeyNotFound, tooManyPasskeys } from './failures.ts';
import {
  deleteOldChallenges,
  deletePasskey,
  insertPasskey,
  insertSpentChallenge,
  MAX_PASSKEYS,
  type Passkey,
  recordPasskeyUse,
  renamePasskey,
  selectPasskey,
  selectPasskeyByCredential,
  selectPasskeys,
} from './store.ts';

export { getPasskeyDomain } from './ceremonies.ts';
export type { Passkey };

/** The failures of a second response to a challenge, and of a credential that is registered already, by constraint. */
const CONSTRAINT_FAILURES = {
  'spent_passkey_challenges.digest': invalidPasskey,
  'passkeys.company_id, passkeys.credential_id': invalidPasskey,
};

const getPasskeyOwner = ({ actor }: UserContext) => ({ companyId: actor.companyId, userId: actor.id });

/** Returns the caller's passkeys, the oldest first. */
export async function listOwnPasskeys(ctx: UserContext): Promise<Passkey[]> {
  return selectPasskeys(ctx.db, getPasskeyOwner(ctx));
}

/** Makes options for an authenticator to create a passkey for the caller, after the caller has authenticated again. */
export async function beginRegistration(ctx: UserContext, reauthentication: Reauthentication) {
  const { id, companyId, email, name } = ctx.actor;
  const {
    known,
    companies: [company],
  } = await readTogether(ctx.db, {
    known: selectPasskeys(ctx.db, getPasskeyOwner(ctx)),
    companies: selectCompany(ctx.db, companyId),
  });
  return runWithOwnFactor(ctx, reauthentication, async (proof) => {
    if (known.length >= MAX_PASSKEYS) throw tooManyPasskeys();
    const results = await commit(ctx.db, { proof });
    if (countChangedRows(results.proof) === 0) return undefined;
    // People of several companies have a passkey for each.
    return makeRegistrationOptions(ctx, { id, companyId, email, displayName: `${name} (${company?.name})` }, known);
  });
}

/** Stores the passkey that an authenticator created, after the caller has authenticated again. Their other sessions end. */
export async function addPasskey(
  ctx: UserContext,
  { name, response, ...reauthentication }: Reauthentication & { name: string; response: RegistrationResponseJSON },
): Promise<Passkey> {
  const { companyId, id: userId, sessionId } = ctx.actor;
  return runWithOwnFactor(ctx, reauthentication, async (proof) => {
    const { challenge, ...credential } = await verifyRegistration(ctx, getPasskeyOwner(ctx), response);
    const record = {
      ...credential,
      id: ctx.newId(),
      companyId,
      userId,
      name,
      lastUsedAt: null,
      createdAt: ctx.now(),
    };
    const consequences = prepareSecurityConsequences(ctx, ctx.actor, 'passkey_added', sessionId);
    const results = await commitAccess(
      ctx,
      makeAffectedPrincipals(companyId, userId),
      {
        proof,
        challenge: insertSpentChallenge(ctx.db, challenge, HAS_CHANGED_ROWS),
        passkey: insertPasskey(ctx.db, record),
        signIns: endSignInsInProgress(ctx.db, getPasskeyOwner(ctx), HAS_CHANGED_ROWS),
        ...consequences.statements,
      },
      CONSTRAINT_FAILURES,
    );
    if (countChangedRows(results.proof) === 0) return undefined;
    if (countChangedRows(results.passkey) === 0) throw tooManyPasskeys();
    consequences.send();
    return record;
  });
}

/** Renames one of the caller's passkeys. Their other sessions end, unless it has this name already. */
export async function changePasskey(ctx: UserContext, id: string, { name }: { name: string }): Promise<Passkey> {
  const { companyId, id: userId, sessionId } = ctx.actor;
  const consequences = prepareSecurityConsequences(ctx, ctx.actor, 'passkey_renamed', sessionId);
  const {
    renamed,
    passkey: [passkey],
  } = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
    renamed: renamePasskey(ctx.db, getPasskeyOwner(ctx), id, name),
    signIns: endSignInsInProgress(ctx.db, getPasskeyOwner(ctx), HAS_CHANGED_ROWS),
    ...consequences.statements,
    passkey: selectPasskey(ctx.db, getPasskeyOwner(ctx), id),
  });
  if (!passkey) throw passkeyNotFound();
  if (countChangedRows(renamed) > 0) consequences.send();
  return passkey;
}

/** Returns one of the caller's passkeys. */
export async function getOwnPasskey(ctx: UserContext, id: string): Promise<Passkey> {
  const [passkey] = await selectPasskey(ctx.db, getPasskeyOwner(ctx), id);
  if (!passkey) throw passkeyNotFound();
  return passkey;
}

/** Deletes one of the caller's passkeys, after the caller has authenticated again. Their other sessions end. */
export async function removePasskey(ctx: UserContext, id: string, reauthentication: Reauthentication): Promise<void> {
  const { companyId, id: userId, sessionId } = ctx.actor;
  await getOwnPasskey(ctx, id);
  await runWithOwnFactor(ctx, reauthentication, async (proof) => {
    const consequences = prepareSecurityConsequences(ctx, ctx.actor, 'passkey_removed', sessionId);
    const results = await commitAccess(ctx, makeAffectedPrincipals(companyId, userId), {
      proof,
      passkey: deletePasskey(ctx.db, getPasskeyOwner(ctx), id),
      signIns: endSignInsInProgress(ctx.db, getPasskeyOwner(ctx), HAS_CHANGED_ROWS),
      ...consequences.statements,
    });
    if (countChangedRows(results.proof) === 0) return undefined;
    if (countChangedRows(results.passkey) === 0) throw passkeyNotFound();
    consequences.send();
    return true;
  });
}

/** Makes options for an authenticator that signs a user in to a company: the same for all companies. */
export async function beginAuthentication(ctx: Context, companySlug: string) {
  const { id } = await getActiveCompanyBySlug(ctx, companySlug);
  return makeAuthenticationOptions(ctx, id);
}

/**
 * Signs in with a passkey, which is two factors: the authenticator, and how it verified the person. The challenge is marked as
 * used, the counter stored and the session begun in one transaction.
 */
export async function logInWithPasskey(
  ctx: Context,
  { companySlug, response }: { companySlug: string; response: AuthenticationResponseJSON },
): Promise<StartedSession> {
  const company = await getActiveCompanyBySlug(ctx, companySlug);
  const {
    passkey: [passkey],
    user: [user],
  } = await readTogether(ctx.db, selectPasskeyByCredential(ctx.db, company.id, response.id));
  if (!passkey || !user || response.response.userHandle !== makeUserHandle(user.id)) throw invalidPasskey();
  const scope = { companyId: company.id, userId: null };
  const { challenge, ...use } = await verifyAuthentication(ctx, scope, response, passkey);
  ctx.setOwner(company.id, { type: 'user', id: user.id });
  requireSsoOptional(company, user);
  if (!user.isActive) throw userNotActive();
  const session = await prepareSession(ctx, user, { condition: HAS_CHANGED_ROWS });
  const { companies, ...results } = await commit(
    ctx.db,
    {
      challenge: insertSpentChallenge(ctx.db, challenge),
      use: recordPasskeyUse(ctx.db, passkey, { ...use, lastUsedAt: ctx.now() }),
      ...session.statements,
      companies: selectCompany(ctx.db, company.id),
    },
    CONSTRAINT_FAILURES,
  );
  for (const companyRow of companies) requireActiveCompany(companyRow);
  if (countChangedRows(results.use) === 0) throw invalidPasskey();
  if (countChangedRows(results.session) === 0) throw sessionsEnded();
  return { ...(await session.tokens()), user };
}

/** Deletes the records of challenges that have expired anyway. For the scheduled run. */
export async function purgeChallenges(ctx: Context): Promise<void> {
  await deleteOldChallenges(ctx.db, ctx.now());
}
