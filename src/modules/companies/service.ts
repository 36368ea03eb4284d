import { requireActiveCompany } from '../../access/suspension.ts';
import type { CompanyContext, Context } from '../../context.ts';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { companyNotFound } from './failures.ts';
import { type Company, selectCompanyBySlug, selectStanding } from './store.ts';
import { viewBranding } from './views.ts';

export type { Brand } from './branding.ts';
export { companyNotFound, companySlugTaken } from './failures.ts';
export { logoFile, logoForMail } from './logos.ts';
export {
  type CompanyOrder,
  type CompanyStatus,
  insertCompany,
  readCompanies,
  selectCompany,
  selectCompanyBySlug,
  updateCompany,
  updateQuotas,
} from './store.ts';
export { brandingView, viewBranding, viewPageBranding } from './views.ts';
export type { Company };

/** The company of a slug that somebody signs in to. */
export async function companyBySlug(ctx: Context, slug: string): Promise<Company> {
  const company = await findCompanyBySlug(ctx, slug);
  requireActiveCompany(company);
  return company;
}

/** The company of a slug, suspended or not, which a request without a credential is made for. */
export async function findCompanyBySlug(ctx: Context, slug: string): Promise<Company> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  if (!company) throw companyNotFound();
  ctx.setOwner(company.id);
  return company;
}

/**
 * Returns the state of the company that work is for: `gone` from the moment on when its erasure begins, for nothing is to be
 * written of it any more.
 */
export async function readCompanyState(ctx: CompanyContext): Promise<'active' | 'suspended' | 'gone'> {
  const [company] = await selectStanding(ctx.db, ctx.actor.companyId);
  if (!company || company.isErased) return 'gone';
  return company.suspendedAt === null ? 'active' : 'suspended';
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
