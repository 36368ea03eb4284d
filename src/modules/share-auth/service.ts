import type { OutsiderActor } from '../../access/actors.ts';
import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { invalidToken } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { generateRandomBelow } from '../../kernel/ids.ts';
import { selectCompany, selectCompanyBySlug } from '../companies/service.ts';
import {
  composeCodeMail,
  type MailRequest,
  readMailedCompany,
  requestMail,
  type SendingContext,
} from '../mails/service.ts';
import { endSession } from '../sessions/queries.ts';
import { prepareShareEvent, recordShareEvent } from '../share-activity/service.ts';
import { selectMembershipOfEmail } from '../share-contexts/service.ts';
import {
  type AuthenticateToken,
  CODE_VALIDITY_MINUTES,
  countSecondsUntil,
  createSession,
  makeValidity,
  prepareCode,
  prepareCodeCheck,
  prepareRotation,
  type RefreshToken,
  signToken,
  verifyToken,
  wrongEmailedCode,
} from '../sign-in/service.ts';
import { insertSession, type Outsider, selectLiveOutsider, upsertOutsider } from './store.ts';

/** The tokens of a portal session, and their outsider; `…ExpiresIn` in seconds. */
export interface PortalTokens {
  accessToken: string;
  accessTokenExpiresIn: number;
  refreshToken: string;
  refreshTokenExpiresIn: number;
  user: Outsider;
}

const ACCESS_TOKEN_SECONDS = 15 * 60;

/** Requests a code by mail. Neither the answer nor the time it takes reveals whether the company exists and shares anything. */
export async function requestPortalCode(ctx: Context, input: { companySlug: string; email: string }): Promise<void> {
  const [company] = await selectCompanyBySlug(ctx.db, input.companySlug);
  // Requests for a company that does not exist are counted too, so that they take the same time.
  const companyId = company?.id ?? NO_COMPANY_ID;
  if (company) ctx.setOwner(companyId);
  const request = { kind: 'portal_code', companyId, email: input.email } as const;
  // Recorded only where a code is sent.
  await requestMail(ctx, request, (sendingContext, mailRequest) =>
    mailPortalCode(sendingContext, mailRequest, () => recordAttempt(ctx, { type: 'auth.code_requested', ...request })),
  );
}

const NO_COMPANY_ID = 'none';

/** Mails a code to an address that is a member of a context. For any other address it does the same work, without a mail. */
export async function mailPortalCode(
  ctx: SendingContext,
  { companyId, email }: MailRequest<'portal_code'>,
  onMemberFound: () => void = () => {},
): Promise<void> {
  const code = makeEightDigits();
  const storedCode = await prepareCode(ctx, { companyId, purpose: 'portal', email }, code);
  const {
    memberships: [membership],
    companies: [company],
  } = await commit(ctx.db, {
    code: storedCode.statement,
    memberships: selectMembershipOfEmail(ctx.db, companyId, email),
    companies: selectCompany(ctx.db, companyId),
  });
  if (!membership || !company || company.suspendedAt !== null) return;
  onMemberFound();
  const [name = email] = email.split('@');
  await ctx.sendToMailService(
    companyId,
    composeCodeMail('portalCode', {
      to: email,
      name,
      company: await readMailedCompany(ctx, company),
      code,
      minutes: CODE_VALIDITY_MINUTES,
    }),
  );
}

/**
 * Signs an outsider in with a mailed code: once, within ten minutes and five tries. An unknown company or member is answered
 * like a wrong code.
 */
export async function verifyPortalCode(
  ctx: Context,
  input: { companySlug: string; email: string; code: string },
): Promise<PortalTokens & { companyName: string }> {
  const [company] = await selectCompanyBySlug(ctx.db, input.companySlug);
  const companyId = company?.id ?? NO_COMPANY_ID;
  if (company) ctx.setOwner(companyId);
  if (company) requireActiveCompany(company);
  const codeCheck = await prepareCodeCheck(ctx, { companyId, purpose: 'portal', email: input.email }, input.code);
  const {
    codes: [code],
    memberships: [membership],
  } = await commit(ctx.db, {
    codes: codeCheck.statement,
    memberships: selectMembershipOfEmail(ctx.db, companyId, input.email),
  });
  if (!company || !code?.usedAt || !membership) {
    const { email } = input;
    // A code allows few tries, which are all recorded; tries without a code are unlimited, and recorded once a minute.
    const minuteKey = code ? undefined : email;
    if (membership) recordAttempt(ctx, { type: 'auth.failed', companyId, email }, minuteKey);
    throw wrongEmailedCode();
  }
  const startedSession = await beginSession(ctx, companyId, input.email);
  return { ...startedSession, companyName: company.branding.name ?? company.name };
}

async function beginSession(ctx: Context, companyId: string, email: string) {
  const now = ctx.now();
  const record: Outsider = { id: ctx.newId(), companyId, email, status: 'active', createdAt: now, lastLoginAt: now };
  const [outsider = record] = await upsertOutsider(ctx.db, record);
  ctx.setOwner(companyId, { type: 'outsider', id: outsider.id });
  const session = await createSession(ctx, { companyId, userId: outsider.id });
  const event = prepareShareEvent(ctx, {
    type: 'auth.verified',
    companyId,
    actor: { kind: 'external', id: outsider.id, email },
  });
  const { told } = await commit(ctx.db, { begun: insertSession(ctx.db, session.record), told: event.statement });
  event.send(told);
  return issuePortalTokens(ctx, outsider, session.token);
}

async function issuePortalTokens(ctx: Context, user: Outsider, refreshTokenData: RefreshToken): Promise<PortalTokens> {
  const claims = { sub: user.id, company_id: user.companyId, sid: refreshTokenData.sessionId };
  const accessClaims = { ...claims, email: user.email, jti: ctx.newId(), token_type: 'access' };
  const [accessToken, refreshToken] = await Promise.all([
    signToken(ctx, 'share-portal', accessClaims, makeValidity(ctx, ACCESS_TOKEN_SECONDS)),
    signToken(ctx, 'share-portal', { ...claims, jti: refreshTokenData.jti, token_type: 'refresh' }, refreshTokenData),
  ]);
  const refreshTokenExpiresIn = countSecondsUntil(ctx, refreshTokenData.expiresAt);
  return { accessToken, accessTokenExpiresIn: ACCESS_TOKEN_SECONDS, refreshToken, refreshTokenExpiresIn, user };
}

/** Verifies a portal token: `sub` is its outsider. */
const verifyPortalToken = (ctx: Context, token: string, type: 'access' | 'refresh') =>
  verifyToken<Record<'sub' | 'company_id' | 'sid' | 'jti', string>>(ctx, 'share-portal', token, type);

/** Exchanges a refresh token for new tokens. A token that was used before, unless this is a retry, ends the session. */
export async function refreshPortalSession(ctx: Context, refreshToken: string): Promise<PortalTokens> {
  const claims = await verifyPortalToken(ctx, refreshToken, 'refresh');
  ctx.setOwner(claims.company_id, { type: 'outsider', id: claims.sub });
  const key = { companyId: claims.company_id, sessionId: claims.sid, outsiderId: claims.sub };
  const rotation = await prepareRotation(ctx, claims);
  const {
    sessions: [live],
  } = await commit(ctx.db, { rotation: rotation.rotate, sessions: selectLiveOutsider(ctx.db, key, ctx.now()) });
  if (!live) throw invalidToken();
  requireActiveCompany(live);
  if (!rotation.isDone(live)) {
    await commitAccess(ctx, makeAffectedPrincipals(key.companyId, key.outsiderId), { ended: rotation.endCopied });
    throw invalidToken();
  }
  return issuePortalTokens(ctx, live.outsider, rotation.makeToken(live));
}

/** Ends the caller's session: neither of its tokens works from now on. */
export async function endPortalSession(ctx: Context<OutsiderActor>): Promise<void> {
  const { companyId, id, sessionId } = ctx.actor;
  await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
    ended: endSession(ctx.db, companyId, sessionId, ctx.now()),
  });
}

/** Authenticates an outsider by a portal token. */
export const authenticateOutsider: AuthenticateToken = async (ctx, token) => {
  const claims = await verifyPortalToken(ctx, token, 'access');
  const key = { companyId: claims.company_id, outsiderId: claims.sub, sessionId: claims.sid };
  const [live] = await selectLiveOutsider(ctx.db, key, ctx.now());
  if (!live) throw invalidToken();
  const { outsider, companySlug } = live;
  const credential = claims.sid;
  requireActiveCompany(live, () => ctx.setOwner(key.companyId, { type: 'outsider', id: outsider.id, credential }));
  return {
    actor: {
      kind: 'outsider',
      id: outsider.id,
      companyId: outsider.companyId,
      companySlug,
      email: outsider.email,
      sessionId: key.sessionId,
    },
  };
};

/** Records a code request or a failed sign-in of an anonymous caller for an address. */
function recordAttempt(
  ctx: Context,
  { type, companyId, email }: { type: 'auth.code_requested' | 'auth.failed'; companyId: string; email: string },
  minuteKey?: string,
): void {
  recordShareEvent(ctx, { type, companyId, actor: { kind: 'anonymous', id: null, email }, minuteKey });
}

/** Makes a random code of the form `1234-5678`. */
function makeEightDigits(): string {
  const digits = String(generateRandomBelow(100_000_000)).padStart(8, '0');
  return `${digits.slice(0, 4)}-${digits.slice(4)}`;
}
