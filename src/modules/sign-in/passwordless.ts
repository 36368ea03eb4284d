import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { generateRandomBelow } from '../../kernel/ids.ts';
import { findCompanyBySlug, getActiveCompanyBySlug, selectCompany } from '../companies/service.ts';
import {
  composeCodeMail,
  type MailRequest,
  readMailedCompany,
  requestMail,
  type SendingContext,
} from '../mails/service.ts';
import { markEmailVerified, selectUserByEmail } from '../users/service.ts';
import { completeSignIn, requireSsoOptionalForEmail, type SignInResult } from './complete.ts';
import { CODE_VALIDITY_MINUTES, prepareCode, prepareCodeCheck } from './emailed-codes.ts';
import { wrongEmailedCode } from './failures.ts';

/** Requests a code by mail. The user is read after the answer, which therefore does not reveal whether there is one. */
export async function requestCode(ctx: Context, input: { companySlug: string; email: string }): Promise<void> {
  const company = await findCompanyBySlug(ctx, input.companySlug);
  await requireSsoOptionalForEmail(ctx, company, input.email);
  await requestMail(ctx, { kind: 'sign_in_code', companyId: company.id, email: input.email }, mailCode);
}

/** Mails a code to the active user of the email. For any other email it does the same work, without a mail. */
export async function mailCode(ctx: SendingContext, { companyId, email }: MailRequest<'sign_in_code'>): Promise<void> {
  const [user] = await selectUserByEmail(ctx.db, companyId, email);
  const code = makeSixDigits();
  const scope = { companyId, purpose: 'sign_in', email } as const;
  const storedCode = await prepareCode(ctx, scope, code, user?.sessionEpoch);
  const {
    companies: [company],
  } = await commit(ctx.db, { code: storedCode.statement, companies: selectCompany(ctx.db, companyId) });
  if (!user?.isActive || !company || company.suspendedAt !== null) return;
  await ctx.sendToMailService(
    companyId,
    composeCodeMail('signInCode', {
      to: email,
      name: user.name,
      company: await readMailedCompany(ctx, company),
      code,
      minutes: CODE_VALIDITY_MINUTES,
    }),
  );
}

/** Signs in with a mailed code, which works once, for ten minutes, until five wrong tries. */
export async function logInWithCode(
  ctx: Context,
  input: { companySlug: string; email: string; code: string },
): Promise<SignInResult> {
  const company = await getActiveCompanyBySlug(ctx, input.companySlug);
  await requireSsoOptionalForEmail(ctx, company, input.email);
  const scope = { companyId: company.id, purpose: 'sign_in', email: input.email } as const;
  const codeCheck = await prepareCodeCheck(ctx, scope, input.code);
  const {
    codes: [code],
    users: [user],
  } = await commit(ctx.db, { codes: codeCheck.statement, users: selectUserByEmail(ctx.db, company.id, input.email) });
  if (!code?.usedAt || !user) throw wrongEmailedCode();
  ctx.setOwner(company.id, { type: 'user', id: user.id });
  if (!user.isActive) throw wrongEmailedCode();
  // Null in codes that were mailed before codes kept it.
  const sessionEpoch = code.sessionEpoch ?? undefined;
  return completeSignIn(ctx, user, [markEmailVerified(ctx.db, user, ctx.now())], { sessionEpoch });
}

const makeSixDigits = (): string => String(generateRandomBelow(1_000_000)).padStart(6, '0');
