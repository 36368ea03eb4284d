import type { Context } from '../../context.ts';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { companyNotFound } from './failures.ts';
import { type Company, selectCompanyBySlug } from './store.ts';
import { viewBranding } from './views.ts';

export type { Brand } from './branding.ts';
export { companyNotFound, companySlugTaken } from './failures.ts';
export { logoForMail } from './logos.ts';
export { insertCompany, selectCompany, selectCompanyBySlug } from './store.ts';
export { brandingView, viewBranding } from './views.ts';
export type { Company };

/** The company of a slug, which a request without a credential is made for. */
export async function companyBySlug(ctx: Context, slug: string): Promise<Company> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  if (!company) throw companyNotFound();
  ctx.belongsTo(company.id);
  return company;
}

/** The brand of a company for its pages; without one where there is no such company, which nobody is told. */
export async function brandingOfSlug(ctx: Context, slug: string): Promise<ViewBranding> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  return company ? viewBranding(ctx.baseUrl, company) : {};
}

/** Whether a company of this slug exists. */
export async function companyExists(ctx: Context, slug: string): Promise<boolean> {
  return (await selectCompanyBySlug(ctx.db, slug)).length > 0;
}
