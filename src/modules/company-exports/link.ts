import type { ViewerActor } from '../../access/actors.ts';
import { requireActiveCompany } from '../../access/suspension.ts';
import type { Context, VerifyViewerToken } from '../../context.ts';
import { openControlDb, readTogether } from '../../db/client.ts';
import { makeFileHeaders, PreparedResponse } from '../../kernel/files.ts';
import { formatDay } from '../../logs/log.ts';
import { selectCompany } from '../companies/service.ts';
import { countSecondsUntil, makeValidity, signToken, verifyToken } from '../sign-in/service.ts';
import { exportNotFound } from './failures.ts';
import { makeArchiveKey } from './objects.ts';
import type { CompanyExport } from './service.ts';
import { selectExport } from './store.ts';

/** The claims of a download link. The export is looked up when the link is opened. */
interface ArchiveClaims {
  /** The id of the export. */
  sub: string;
  company_id: string;
  /** Whether the link was given to the operator, so that it works while the company is suspended. */
  for_operator: boolean;
}

/** The holder of a download link. */
export type ArchiveViewer = ViewerActor<ArchiveClaims>;

/** Creates a link to the archive of a succeeded export; it works until the archive is deleted. */
export async function createArchiveLink(
  ctx: Context,
  { id, companyId, expiresAt }: CompanyExport,
  { forOperator }: { forOperator: boolean },
): Promise<string> {
  const validity = makeValidity(ctx, countSecondsUntil(ctx, expiresAt ?? 0));
  const claims = { sub: id, company_id: companyId, for_operator: forOperator, sid: id, jti: ctx.newId() };
  const token = await signToken(ctx, 'company-export', { ...claims, token_type: 'access' }, validity);
  return `${ctx.baseUrl}/data/archives/${token}`;
}

/** Verifies the token of a download link. */
export const verifyArchiveToken: VerifyViewerToken = async (ctx, token, count) => {
  const claims = await verifyToken<ArchiveClaims>(ctx, 'company-export', token, 'access');
  await count?.(claims.sub);
  return { kind: 'viewer', companyId: claims.company_id, tokenId: claims.sub, allowedOrigins: [], tokenRecord: claims };
};

/**
 * Returns the archive of a link. Reads the primary database, as a link may be opened right after its creation.
 * @throws exportNotFound; the failure of a suspended company, unless the link is for the operator
 */
export async function downloadArchive(ctx: Context<ArchiveViewer>): Promise<PreparedResponse> {
  const { sub: id, company_id: companyId, for_operator: forOperator } = ctx.actor.tokenRecord;
  const db = openControlDb(ctx.bindings.CONTROL_DB);
  const {
    companies: [company],
    exports: [found],
  } = await readTogether(db, { companies: selectCompany(db, companyId), exports: selectExport(db, companyId, id) });
  if (company && !forOperator) requireActiveCompany(company);
  const isAvailable = company && found?.status === 'succeeded' && (found.expiresAt ?? 0) > ctx.now();
  const archive = isAvailable ? await ctx.files.get(makeArchiveKey(found)) : null;
  if (!company || !found || !archive) throw exportNotFound();
  return new PreparedResponse(archive.body, makeFileHeaders(`${company.slug}-${formatDay(found.createdAt)}`, 'zip'));
}
