import type { ViewerActor } from '../../access/actors.ts';
import type { Context, OpenToken } from '../../context.ts';
import { fileHeaders, PreparedResponse } from '../../kernel/files.ts';
import { secondsUntil, signToken, validFor, verifyToken } from '../sign-in/service.ts';
import { jobNotFound } from './failures.ts';
import { getLinkedJob, RETENTION_MS } from './job-service.ts';
import type { DataJob } from './job-store.ts';
import { listPieceKeys } from './pieces.ts';

/** The time for which a link to a result works, unless the result is deleted before. */
const LINK_SECONDS = 3600;

/** The claims of a link. The result is looked up when the link is opened. */
interface Claims {
  /** The id of the job. */
  sub: string;
  company_id: string;
}

/** The holder of a link. */
export type ResultViewer = ViewerActor<Claims>;

/** A link to the result of a job that has succeeded. @returns its end as `expiresAt`, in ms */
export async function createResultLink(ctx: Context, job: DataJob): Promise<{ url: string; expiresAt: number }> {
  const validity = validFor(ctx, Math.min(LINK_SECONDS, secondsUntil(ctx, job.createdAt + RETENTION_MS)));
  const claims = { sub: job.id, company_id: job.companyId, sid: job.id, jti: ctx.newId(), token_type: 'access' };
  const token = await signToken(ctx, 'data-result', claims, validity);
  return { url: `${ctx.baseUrl}/data/results/${token}`, expiresAt: Math.floor(validity.expiresAt / 1000) * 1000 };
}

/** Verifies the token of a link. @returns its holder */
export const openResultToken: OpenToken = async (ctx, token, count) => {
  const claims = await verifyToken<Claims>(ctx, 'data-result', token, 'access');
  await count?.(claims.sub);
  return { kind: 'viewer', companyId: claims.company_id, tokenId: claims.sub, allowedOrigins: [], opened: claims };
};

/** The result of a link, read from R2 as fast as the caller takes it. */
export async function downloadResult(ctx: Context<ResultViewer>): Promise<PreparedResponse> {
  const job = await getLinkedJob(ctx, ctx.actor.opened.sub);
  const { files } = ctx;
  const [first, ...rest] = listPieceKeys(job, job.pieces ?? 0);
  const headers = fileHeaders(job.slug, job.format);
  if (first === undefined) return new PreparedResponse('', headers);
  const head = await files.get(first);
  if (!head) throw jobNotFound();
  const { readable, writable } = new FixedLengthStream(job.bytes ?? 0);
  const send = async () => {
    await head.body.pipeTo(writable, { preventClose: true });
    for (const key of rest) {
      const piece = await files.get(key);
      if (!piece) throw new Error('a piece of the result is gone');
      await piece.body.pipeTo(writable, { preventClose: true });
    }
    await writable.close();
  };
  // A download that its reader leaves, or whose result is deleted meanwhile, ends short of its length.
  send().catch((error) => writable.abort(error).catch(() => undefined));
  return new PreparedResponse(readable, headers);
}
