import type { UserActor } from '../../src/access/actors.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import { commit } from '../../src/db/client.ts';
import { prepareInvitation } from '../../src/modules/invitations/service.ts';
import type { Company } from './companies.ts';
import { runInContext } from './context.ts';

/** Invites an e-mail address to a company, on behalf of its owner. The mail is sent when this resolves. */
export function inviteUser(company: Company, email: string, teams?: string[]) {
  const owner: UserActor = {
    kind: 'user',
    id: company.owner.id,
    companyId: company.id,
    companySlug: company.slug,
    email: company.owner.email,
    name: 'Olga Owner',
    isOwner: true,
    sessionId: 'none',
    access: compileAccess({ companyId: company.id, isOwner: true, groups: [] }),
  };
  return runInContext(owner, async (ctx) => {
    const preparedInvitation = await prepareInvitation(ctx, { email, teams });
    await commit(ctx.db, { statements: preparedInvitation.statements }, preparedInvitation.failures);
    preparedInvitation.sendMail();
    return preparedInvitation;
  });
}
