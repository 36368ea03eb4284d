import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import type { UserContext } from '../../context.ts';
import { countChangedRows } from '../../db/client.ts';
import { HAS_CHANGED_ROWS } from '../../db/statements.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { selectCompany } from '../companies/service.ts';
import { endUserGrants, endUserSessions } from '../sessions/queries.ts';
import { requireUnlikeOwner } from '../users/fields.ts';
import { endPasswordResets, setPassword } from '../users/service.ts';
import { wrongCredentials } from './failures.ts';
import { runWithPassword } from './reauthentication.ts';
import { prepareSecurityMail } from './security-mails.ts';

/** Changes the caller's password: their other sessions, grants to programs and links to reset it end. */
export async function changePassword(
  ctx: UserContext,
  input: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { companyId, id, email, sessionId } = ctx.actor;
  await runWithPassword(ctx, input.currentPassword, async (user) => {
    const [company] = await selectCompany(ctx.db, companyId);
    if (company) requireUnlikeOwner(input.newPassword, { ...user, company }, 'new_password');
    const now = ctx.now();
    const passwordHash = await hashPassword(input.newPassword);
    const mail = prepareSecurityMail(ctx, { companyId, email }, 'password_changed');
    const results = await commitAccess(ctx, makeAffectedPrincipals(companyId, id), {
      password: setPassword(ctx.db, user, passwordHash, now),
      mail: mail.statements,
      sessions: endUserSessions(ctx.db, { companyId, userId: id }, now, {
        exceptSessionId: sessionId,
        condition: HAS_CHANGED_ROWS,
      }),
      grants: endUserGrants(ctx.db, { companyId, userId: id }, { passwordHash, now }),
      resets: endPasswordResets(ctx.db, user, now),
    });
    // The password was changed since it was verified.
    if (countChangedRows(results.password) === 0) throw wrongCredentials();
    mail.send();
  });
}
