import type { Context } from '../../context.ts';
import { companyNotFound } from './failures.ts';
import { type Company, selectCompanyBySlug } from './store.ts';

export { companyNotFound, companySlugTaken } from './failures.ts';
export { insertCompany, selectCompany, selectCompanyBySlug } from './store.ts';
export type { Company };

/** The company of a slug, which a request without a credential is made for. */
export async function companyBySlug(ctx: Context, slug: string): Promise<Company> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  if (!company) throw companyNotFound();
  ctx.belongsTo(company.id);
  return company;
}

/** Whether a company of this slug exists. */
export async function companyExists(ctx: Context, slug: string): Promise<boolean> {
  return (await selectCompanyBySlug(ctx.db, slug)).length > 0;
}
