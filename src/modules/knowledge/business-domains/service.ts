import { z } from 'zod';
import type { CompanyContext, PrincipalContext } from '../../../context.ts';
import type { BusinessDomain } from '../../../db/schema/knowledge-resources.ts';
import { slugSchema } from '../../../kernel/fields.ts';
import { description, name } from '../resources/fields.ts';
import { replaceDomains, selectDomains } from './store.ts';

export type { BusinessDomain };

/** The schema of a business domain, in requests and responses. */
export const businessDomain = z
  .object({ key: slugSchema, name, description: description.or(z.literal('')).default('') })
  .meta({ id: 'BusinessDomain' });

/** Returns the business domains of the company, in the order that the company chose. */
export async function getBusinessDomains(ctx: CompanyContext): Promise<BusinessDomain[]> {
  const [row] = await selectDomains(ctx.db, ctx.actor.companyId);
  return row?.domains ?? [];
}

/** Replaces all business domains of the company. Running jobs keep the domains that they started with. */
export async function replaceBusinessDomains(
  ctx: PrincipalContext,
  domains: BusinessDomain[],
): Promise<BusinessDomain[]> {
  await replaceDomains(ctx.db, ctx.actor.companyId, domains, ctx.now());
  return domains;
}
