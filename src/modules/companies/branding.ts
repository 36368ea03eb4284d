import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { type Branding, findContrastProblems, STANDARD_COLOURS } from '../../presentation/branding.ts';
import { companyNotFound } from './failures.ts';
import { deleteLogo } from './logos.ts';
import { type Company, selectCompany, updateBranding, updateLogo } from './store.ts';

export type Brand = Pick<Company, 'id' | 'branding' | 'logo'>;

/** The changes of a brand; null restores the standard value of a field. */
export type BrandingChanges = { [Field in keyof Branding]?: Branding[Field] | null } & { logo?: null };

/** Returns the brand of the caller's company. */
export async function getBranding(ctx: PrincipalContext): Promise<Brand> {
  const [company] = await selectCompany(ctx.db, ctx.actor.companyId);
  if (!company) throw companyNotFound();
  return company;
}

/**
 * Changes the fields that are sent.
 * @throws invalid where the resulting colours have too little contrast
 */
export function changeBranding(ctx: PrincipalContext, { logo, ...changes }: BrandingChanges): Promise<Brand> {
  return retryOnConcurrentChange(async () => {
    const previousBrand = await getBranding(ctx);
    const branding = omitValue(null, { ...previousBrand.branding, ...omitValue(undefined, changes) }) as Branding;
    const problems = findContrastProblems({ ...STANDARD_COLOURS, ...branding });
    if (problems.length > 0) throw invalidInput(problems);
    const { changed } = await commit(ctx.db, {
      changed: updateBranding(ctx.db, previousBrand.id, previousBrand.branding, branding, ctx.now()),
    });
    if (changed.length === 0) return undefined;
    return logo === null ? removeLogo(ctx) : (changed[0] as Brand);
  });
}

async function removeLogo(ctx: PrincipalContext): Promise<Brand> {
  const { companyId } = ctx.actor;
  const { before, after } = await commit(ctx.db, {
    before: selectCompany(ctx.db, companyId),
    after: updateLogo(ctx.db, companyId, null, ctx.now()),
  });
  const [company] = after;
  if (!company) throw companyNotFound();
  deleteLogo(ctx, companyId, before[0]?.logo);
  return company;
}

const omitValue = (omittedValue: null | undefined, fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== omittedValue));
