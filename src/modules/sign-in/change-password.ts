import type { UserContext } from '../../context.ts';
import { changes, commit } from '../../db/client.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { selectCompany } from '../companies/service.ts';
import { endSessionsOf } from '../sessions/queries.ts';
import { requireUnlikePerson } from '../users/fields.ts';
import { setPassword } from '../users/service.ts';
import { wrongCredentials } from './failures.ts';
import { withPassword } from './reauthentication.ts';
import { useUpResets } from './reset-store.ts';
import { prepareSecurityMail } from './security-mails.ts';

/**
 * Sets a new password for the caller, who knows the one before. Their other sessions end, and links that would set another
 * stop working.
 * @throws Failure `sign_in.wrong_credentials`, `sign_in.too_many_attempts`, or invalid
 */
export async function changePassword(ctx: UserContext, input: { current: string; next: string }): Promise<void> {
  const { companyId, id, email, sessionId } = ctx.actor;
  await withPassword(ctx, input.current, async (user) => {
    const [company] = await selectCompany(ctx.db, companyId);
    if (company) requireUnlikePerson(input.next, { ...user, company }, 'new_password');
    const now = ctx.now();
    const mail = prepareSecurityMail(ctx, { companyId, email }, 'password_changed');
    const [changed] = await commit(ctx.db, [
      setPassword(ctx.db, user, await hashPassword(input.next), now),
      mail.statement,
      endSessionsOf(ctx.db, { companyId, userId: id }, now, { except: sessionId, afterChange: true }),
      useUpResets(ctx.db, user, now),
    ]);
    // It was changed meanwhile.
    if (changes(changed) === 0) throw wrongCredentials();
    mail.send();
  });
}
