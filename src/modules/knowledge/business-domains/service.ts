import type { CompanyContext, UserContext } from '../../../context.ts';
import type { BusinessDomain } from '../../../db/schema/business-domains.ts';
import { putDomains, selectDomains } from './store.ts';

export type { BusinessDomain };

/** What the company does, in its own order. */
export async function getBusinessDomains(ctx: CompanyContext): Promise<BusinessDomain[]> {
  const [row] = await selectDomains(ctx.db, ctx.actor.companyId);
  return row?.domains ?? [];
}

/** Sets all business domains, in place of those before. Jobs under way keep those they began with. */
export async function putBusinessDomains(ctx: UserContext, domains: BusinessDomain[]): Promise<BusinessDomain[]> {
  await putDomains(ctx.db, ctx.actor.companyId, domains, ctx.now());
  return domains;
}
