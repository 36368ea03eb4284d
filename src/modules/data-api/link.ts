import type { ViewerActor } from '../../access/actors.ts';
import type { Context, VerifyViewerToken } from '../../context.ts';
import { makeFileHeaders, PreparedResponse } from '../../kernel/files.ts';
import { countSecondsUntil, makeValidity, signToken, verifyToken } from '../sign-in/service.ts';
import { jobNotFound } from './failures.ts';
import { getLinkedJob, JOB_RETENTION_MS } from './job-service.ts';
import type { DataJob } from './job-store.ts';
import { listPieceKeys } from './result-pieces.ts';

/** The time for which a link to a result works, unless the result is deleted before. */
const LINK_LIFETIME_SECONDS = 3600;

/** The claims of a result link. The result is looked up when the link is opened. */
interface ResultClaims {
  /** The id of the job. */
  sub: string;
  company_id: string;
}

/** The holder of a result link. */
export type ResultViewer = ViewerActor<ResultClaims>;

/** Creates a link to the result of a succeeded job. @returns the link, and the time at which it expires (ms) */
export async function createResultLink(ctx: Context, job: DataJob): Promise<{ url: string; expiresAt: number }> {
  const validity = makeValidity(
    ctx,
    Math.min(LINK_LIFETIME_SECONDS, countSecondsUntil(ctx, job.createdAt + JOB_RETENTION_MS)),
  );
  const claims = { sub: job.id, company_id: job.companyId, sid: job.id, jti: ctx.newId(), token_type: 'access' };
  const token = await signToken(ctx, 'data-result', claims, validity);
  return { url: `${ctx.baseUrl}/data/results/${token}`, expiresAt: Math.floor(validity.expiresAt / 1000) * 1000 };
}

/** Verifies the token of a result link. @returns its holder */
export const verifyResultToken: VerifyViewerToken = async (ctx, token, count) => {
  const claims = await verifyToken<ResultClaims>(ctx, 'data-result', token, 'access');
  await count?.(claims.sub);
  return { kind: 'viewer', companyId: claims.company_id, tokenId: claims.sub, allowedOrigins: [], tokenRecord: claims };
};

/** Streams the result of a link from R2, as fast as the caller reads it. */
export async function downloadResult(ctx: Context<ResultViewer>): Promise<PreparedResponse> {
  const job = await getLinkedJob(ctx, ctx.actor.tokenRecord.sub);
  const { files } = ctx;
  const [first, ...rest] = listPieceKeys(job, job.pieces ?? 0);
  const headers = makeFileHeaders(job.slug, job.format);
  if (first === undefined) return new PreparedResponse('', headers);
  const head = await files.get(first);
  if (!head) throw jobNotFound();
  const { readable, writable } = new FixedLengthStream(job.bytes ?? 0);
  const sendPieces = async () => {
    await head.body.pipeTo(writable, { preventClose: true });
    for (const key of rest) {
      const piece = await files.get(key);
      if (!piece) throw new Error('a piece of the result is gone');
      await piece.body.pipeTo(writable, { preventClose: true });
    }
    await writable.close();
  };
  // A download that its reader leaves, or whose result is deleted meanwhile, ends short of its length.
  sendPieces().catch((error) => writable.abort(error).catch(() => undefined));
  return new PreparedResponse(readable, headers);
}
