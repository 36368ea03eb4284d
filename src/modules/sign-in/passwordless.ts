import type { Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { randomBelow } from '../../kernel/random.ts';
import { companyBySlug, selectCompany } from '../companies/service.ts';
import { type MailRequest, requestMail, signInCodeMail } from '../mails/service.ts';
import { noteVerified, selectUserByEmail } from '../users/service.ts';
import { completeSignIn, type SignInResult } from './complete.ts';
import { CODE_MINUTES, prepareCode, prepareTry } from './emailed-codes.ts';
import { wrongEmailedCode } from './failures.ts';
import { requireWayBesideSso } from './sso-only.ts';

/**
 * Asks for a code by mail. Whether the email belongs to anybody is found out only after the answer, so that neither the
 * answer nor its time tells.
 * @throws Failure `company.not_found`, `sign_in.sso_required`
 */
export async function requestCode(ctx: Context, input: { companySlug: string; email: string }): Promise<void> {
  const company = await companyBySlug(ctx, input.companySlug);
  if (company.ssoOnly) requireWayBesideSso(company, (await selectUserByEmail(ctx.db, company.id, input.email))[0]);
  await requestMail(ctx, { kind: 'sign_in_code', companyId: company.id, email: input.email }, mailCode);
}

/** Makes a code and mails it to the active user of that email; for any other address it only does the same work. */
export async function mailCode(ctx: Context, { companyId, email }: MailRequest<'sign_in_code'>): Promise<void> {
  const code = sixDigits();
  const kept = await prepareCode(ctx, { companyId, purpose: 'sign_in', email }, code);
  const [, [user], [company]] = await commit(ctx.db, [
    kept.statement,
    selectUserByEmail(ctx.db, companyId, email),
    selectCompany(ctx.db, companyId),
  ]);
  if (!user?.isActive || !company) return;
  await ctx.mailer.send(
    signInCodeMail({ to: email, name: user.name, company: company.name, code, minutes: CODE_MINUTES }),
  );
}

/**
 * Signs in with a mailed code. It works once, 10 minutes, and dies with the fifth wrong try.
 * @throws Failure `company.not_found`, `sign_in.sso_required`, `sign_in.wrong_emailed_code`
 */
export async function logInWithCode(
  ctx: Context,
  input: { companySlug: string; email: string; code: string },
): Promise<SignInResult> {
  const company = await companyBySlug(ctx, input.companySlug);
  if (company.ssoOnly) requireWayBesideSso(company, (await selectUserByEmail(ctx.db, company.id, input.email))[0]);
  const place = { companyId: company.id, purpose: 'sign_in', email: input.email } as const;
  const trial = await prepareTry(ctx, place, input.code);
  const [[tried], [user]] = await commit(ctx.db, [trial.statement, selectUserByEmail(ctx.db, company.id, input.email)]);
  if (!tried?.usedAt || !user?.isActive) throw wrongEmailedCode();
  return completeSignIn(ctx, user, [noteVerified(ctx.db, user, ctx.now())]);
}

const sixDigits = (): string => String(randomBelow(1_000_000)).padStart(6, '0');
