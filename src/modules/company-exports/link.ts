import type { ViewerActor } from '../../access/actors.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, OpenToken } from '../../context.ts';
import { openControlDb, readTogether } from '../../db/client.ts';
import { fileHeaders, PreparedResponse } from '../../kernel/files.ts';
import { formatDay } from '../../logs/log.ts';
import { selectCompany } from '../companies/service.ts';
import { secondsUntil, signToken, validFor, verifyToken } from '../sign-in/service.ts';
import { exportNotFound } from './failures.ts';
import { makeArchiveKey } from './objects.ts';
import type { CompanyExport } from './service.ts';
import { selectExport } from './store.ts';

/** The claims of a link. The export behind it is looked up when it is opened. */
interface Claims {
  /** The export. */
  sub: string;
  company_id: string;
  /** Whether the operator was given the link, so that it works while the company is suspended. */
  for_operator: boolean;
}

/** The holder of a link. */
export type ArchiveViewer = ViewerActor<Claims>;

/** A link to the archive of an export that has succeeded; it works until that is deleted. */
export async function createArchiveLink(
  ctx: Context,
  { id, companyId, expiresAt }: CompanyExport,
  { forOperator }: { forOperator: boolean },
): Promise<string> {
  const validity = validFor(ctx, secondsUntil(ctx, expiresAt ?? 0));
  const claims = { sub: id, company_id: companyId, for_operator: forOperator, sid: id, jti: ctx.newId() };
  const token = await signToken(ctx, 'company-export', { ...claims, token_type: 'access' }, validity);
  return `${ctx.baseUrl}/data/archives/${token}`;
}

/** Opens the token of a link. */
export const openArchiveToken: OpenToken = async (ctx, token, count) => {
  const claims = await verifyToken<Claims>(ctx, 'company-export', token, 'access');
  await count?.(claims.sub);
  return { kind: 'viewer', companyId: claims.company_id, tokenId: claims.sub, allowedOrigins: [], opened: claims };
};

/**
 * The archive of a link. Reads the primary database, as a link may be opened right after its creation.
 * @throws exportNotFound
 */
export async function downloadArchive(ctx: Context<ArchiveViewer>): Promise<PreparedResponse> {
  const { sub: id, company_id: companyId, for_operator: forOperator } = ctx.actor.opened;
  const db = openControlDb(ctx.bindings.CONTROL_DB);
  const {
    companies: [company],
    exports: [found],
  } = await readTogether(db, { companies: selectCompany(db, companyId), exports: selectExport(db, companyId, id) });
  if (company && !forOperator) requireActiveCompany(company);
  const isThere = company && found?.status === 'succeeded' && (found.expiresAt ?? 0) > ctx.now();
  const archive = isThere ? await ctx.files.get(makeArchiveKey(found)) : null;
  if (!company || !found || !archive) throw exportNotFound();
  return new PreparedResponse(archive.body, fileHeaders(`${company.slug}-${formatDay(found.createdAt)}`, 'zip'));
}
