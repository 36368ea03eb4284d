import { isAdministrator } from '../../access/evaluation.ts';
import { administratorsOnly } from '../../access/failures.ts';
import type { PrincipalContext } from '../../context.ts';
import { companyNotFound } from './failures.ts';
import { type Company, selectCompany, updateSettings } from './store.ts';

/** The rules by which people sign in to a company, and its language. */
export type Settings = Pick<Company, 'require2fa' | 'ssoOnly' | 'locale'>;

/** Returns the settings of the caller's company. */
export async function getSettings(ctx: PrincipalContext): Promise<Settings> {
  const [company] = await selectCompany(ctx.db, ctx.actor.companyId);
  if (!company) throw companyNotFound();
  return company;
}

/** Changes the settings that are sent. Only administrators may change the sign-in rules: others may send the stored ones. */
export async function changeSettings(ctx: PrincipalContext, changes: Partial<Settings>): Promise<Settings> {
  const mustKeepSignInRules = !isAdministrator(ctx.actor.access);
  const [company] = await updateSettings(ctx.db, ctx.actor.companyId, changes, { mustKeepSignInRules, now: ctx.now() });
  if (!company) throw mustKeepSignInRules ? administratorsOnly() : companyNotFound();
  return company;
}
