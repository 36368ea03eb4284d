import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { type Branding, findContrastProblems, STANDARD_COLOURS } from '../../presentation/branding.ts';
import { storeLogo } from './logos.ts';
import { getCompany } from './service.ts';
import { type Company, updateBranding } from './store.ts';

export type Brand = Pick<Company, 'id' | 'branding' | 'logo'>;

/** The changes of a brand; null restores the standard value of a field. */
export type BrandingChanges = { [Field in keyof Branding]?: Branding[Field] | null } & { logo?: null };

/** Changes the fields that are sent. @throws invalid where the resulting colours have too little contrast */
export function changeBranding(ctx: PrincipalContext, { logo, ...changes }: BrandingChanges): Promise<Brand> {
  return retryOnConcurrentChange(async () => {
    const previousBrand = await getCompany(ctx);
    const branding = omitValue(null, { ...previousBrand.branding, ...omitValue(undefined, changes) }) as Branding;
    const problems = findContrastProblems({ ...STANDARD_COLOURS, ...branding });
    if (problems.length > 0) throw invalidInput(problems);
    const { changed } = await commit(ctx.db, {
      changed: updateBranding(ctx.db, previousBrand.id, previousBrand.branding, branding, ctx.now()),
    });
    if (changed.length === 0) return undefined;
    return logo === null ? storeLogo(ctx, null) : (changed[0] as Brand);
  });
}

const omitValue = (omittedValue: null | undefined, fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== omittedValue));
