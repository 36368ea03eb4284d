import type { UserActor } from '../../src/access/actors.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import { inviteUser as invite } from '../../src/modules/invitations/service.ts';
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
  return runInContext(owner, (ctx) => invite(ctx, { email, teams, groupIds: [] }));
}
