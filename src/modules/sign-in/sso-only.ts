import type { Company } from '../companies/service.ts';
import type { User } from '../users/service.ts';
import { ssoRequired } from './failures.ts';

/**
 * Where people come by the company's identity provider alone, no other way is open to anybody but the owner, who must not
 * be locked out by a provider that fails. Emails that nobody has are refused alike.
 * @throws Failure `sign_in.sso_required`
 */
export function requireWayBesideSso(company: Pick<Company, 'ssoOnly'>, user: Pick<User, 'isOwner'> | undefined): void {
  if (company.ssoOnly && !user?.isOwner) throw ssoRequired();
}
