import { isAdministrator } from '../../access/evaluation.ts';
import { administratorsOnly } from '../../access/failures.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { CompanyContext, Context, PrincipalContext } from '../../context.ts';
import type { ViewBranding } from '../../presentation/viewing.ts';
import { companyNotFound } from './failures.ts';
import {
  type Company,
  type SettingsChanges,
  selectCompany,
  selectCompanyBySlug,
  selectSuspensionAndErasure,
  updateSettings,
} from './store.ts';
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

/** Returns the company of the caller. */
export async function getCompany(ctx: PrincipalContext): Promise<Company> {
  const [company] = await selectCompany(ctx.db, ctx.actor.companyId);
  if (!company) throw companyNotFound();
  return company;
}

/** Changes the settings that are sent. Only administrators may change the sign-in rules: others may send the stored ones. */
export async function changeSettings(ctx: PrincipalContext, changes: SettingsChanges): Promise<Company> {
  const mustKeepSignInRules = !isAdministrator(ctx.actor.access);
  const [company] = await updateSettings(ctx.db, ctx.actor.companyId, changes, { mustKeepSignInRules, now: ctx.now() });
  if (!company) throw mustKeepSignInRules ? administratorsOnly() : companyNotFound();
  return company;
}

/** Returns the company of a slug, for a sign-in. @throws companyNotFound; the failure of a suspended company */
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

/** Returns the state of a job's company: `gone` once its erasure has begun, after which nothing may be written for it. */
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
