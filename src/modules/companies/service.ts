import { requireActiveCompany } from '../../access/suspension.ts';
import type { CompanyContext, Context } from '../../context.ts';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { companyNotFound } from './failures.ts';
import { type Company, selectCompanyBySlug, selectSuspensionAndErasure } from './store.ts';
import { viewBranding } from './views.ts';

export type { Brand } from './branding.ts';
export { companyNotFound, companySlugTaken } from './failures.ts';
export { readLogoFile, readLogoForMail } from './logos.ts';
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

/**
 * Returns the company of a slug, for a sign-in.
 * @throws companyNotFound; the failure of a suspended company
 */
export async function getActiveCompanyBySlug(ctx: Context, slug: string): Promise<Company> {
  const company = await findCompanyBySlug(ctx, slug);
  requireActiveCompany(company);
  return company;
}

/**
 * Returns the company of a slug, suspended or not, for a request without a credential, which is attributed to that company.
 * @throws companyNotFound
 */
export async function findCompanyBySlug(ctx: Context, slug: string): Promise<Company> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  if (!company) throw companyNotFound();
  ctx.setOwner(company.id);
  return company;
}

/**
 * Returns the state of the company that a job works for: `gone` once its erasure has begun, after which nothing may be written
 * for it.
 */
export async function readCompanyState(ctx: CompanyContext): Promise<'active' | 'suspended' | 'gone'> {
  const [company] = await selectSuspensionAndErasure(ctx.db, ctx.actor.companyId);
  if (!company || company.isErased) return 'gone';
  return company.suspendedAt === null ? 'active' : 'suspended';
}

/** Returns the brand of a company for its pages; empty where none exists, which hides whether it exists. */
export async function readBrandingBySlug(ctx: Context, slug: string): Promise<ViewBranding> {
  const [company] = await selectCompanyBySlug(ctx.db, slug);
  return company ? viewBranding(ctx.baseUrl, company) : {};
}

/** Tells whether a company with this slug exists. */
export async function hasCompany(ctx: Context, slug: string): Promise<boolean> {
  return (await selectCompanyBySlug(ctx.db, slug)).length > 0;
}
