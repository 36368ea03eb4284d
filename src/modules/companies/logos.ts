import type { Context, PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Logo } from '../../db/schema/companies.ts';
import { BadImage, readImage } from '../../formats/image/read.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import { waitForStorage } from '../../platform/file-storage.ts';
import { logError } from '../../platform/log.ts';
import { deleteObjects } from '../../platform/stored-files.ts';
import { companyNotFound, logoNotFound } from './failures.ts';
import { type Company, selectCompany, updateLogo } from './store.ts';

const makeLogoKey = (companyId: string, logoId: string): string => `${companyId}/logos/${logoId}`;

/** Returns the path of a logo below the system's base URL. Another logo has another path. */
export const makeLogoPath = (companyId: string, { id }: Logo): string => `/api/v1/public/logos/${companyId}/${id}`;

/** Replaces the logo of the caller's company by a file's image data, without metadata; deletes the previous one. */
export async function replaceLogo(ctx: PrincipalContext, file: Uint8Array<ArrayBuffer>): Promise<Company> {
  const { companyId } = ctx.actor;
  const { bytes, ...picture } = await readImage(file).catch((error: unknown) => {
    throw error instanceof BadImage ? invalidInput([{ field: 'logo', message: error.message }]) : error;
  });
  const logo = { id: ctx.newId(), ...picture };
  await waitForStorage(
    ctx.bindings.FILES.put(makeLogoKey(companyId, logo.id), bytes, { httpMetadata: { contentType: logo.type } }),
  );
  return storeLogo(ctx, logo);
}

/** Stores which logo the caller's company has; null for none. The previous one is deleted after the response is sent. */
export async function storeLogo(ctx: PrincipalContext, logo: Logo | null): Promise<Company> {
  const { companyId } = ctx.actor;
  const { before, after } = await commit(ctx.db, {
    before: selectCompany(ctx.db, companyId),
    after: updateLogo(ctx.db, companyId, logo, ctx.now()),
  });
  const [company] = after;
  if (!company) throw companyNotFound();
  const previousLogo = before[0]?.logo;
  if (previousLogo) ctx.defer(deleteObjects(ctx.bindings.FILES, [makeLogoKey(companyId, previousLogo.id)]));
  return company;
}

/** Reads the bytes of a logo for a mail; undefined for WebP, which some mail programs do not show, and while R2 fails. */
export async function readLogoForMail(ctx: Context, companyId: string, logo: Logo | null) {
  if (!logo || logo.type === 'image/webp') return undefined;
  try {
    const object = await ctx.bindings.FILES.get(makeLogoKey(companyId, logo.id));
    return object ? { ...logo, bytes: new Uint8Array(await object.arrayBuffer()) } : undefined;
  } catch (error) {
    // A mail without its logo is better than none.
    logError('logo_not_read', error, { company_id: companyId });
    return undefined;
  }
}

/** Reads the picture of a company's logo; null where it has none. */
export const readLogoFile = async (
  ctx: Context,
  { id, logo }: Pick<Company, 'id' | 'logo'>,
): Promise<R2ObjectBody | null> => (logo ? ctx.bindings.FILES.get(makeLogoKey(id, logo.id)) : null);

/** Reads the file of a logo, which anybody may read. @throws logoNotFound */
export async function readLogo(ctx: Context, companyId: string, logoId: string): Promise<R2ObjectBody> {
  const isValidKey = ID_PATTERN.test(companyId) && ID_PATTERN.test(logoId);
  const object = isValidKey ? await ctx.bindings.FILES.get(makeLogoKey(companyId, logoId)) : null;
  if (!object) throw logoNotFound();
  return object;
}
