import type { Context } from '../../context.ts';
import { type ControlDb, commit, countChangedRows } from '../../db/client.ts';
import type { Notice } from '../../db/schema/mails.ts';
import type { Condition } from '../../db/statements.ts';
import { DAY_MS, HOUR_MS } from '../../kernel/clock.ts';
import { log, logError } from '../../platform/log.ts';
import { type Mail, MailRefusedError } from '../../platform/mail.ts';
import { consumeMailQuota, countUse } from '../usage/queries.ts';
import {
  claimDueRequests,
  deleteFinishedRequests,
  extendClaim,
  finishRequest,
  giveUpRequests,
  insertLimitedRequest,
  insertRequest,
  insertRequestAfterChange,
  isRequestStored,
  type MailRequestRecord,
} from './store.ts';

export type MailKind = MailRequestRecord['kind'];

export interface MailRequest<Kind extends MailKind = MailKind> {
  kind: Kind;
  /**
   * The id of the company; null only for password resets, which are about every company with a user of the email
   * address.
   */
  companyId: Kind extends 'password_reset' ? string | null : string;
  /** The email address, lower-case. */
  email: string;
  notice?: Kind extends 'notice' ? Notice : null;
  /** The id of the schedule, webhook endpoint or grant that a mail is about. */
  about?: Kind extends 'schedule_paused' | 'schedule_consent' | 'webhook_disabled' | 'program_let_in' ? string : null;
}

/** The context in which a mail is composed. */
export interface SendingContext extends Context {
  /** Sends a mail of a company to the mail service, unless the company's quota for the day is used up. */
  sendToMailService(companyId: string, mail: Mail): Promise<void>;
}

/** Composes and sends a mail. It is called again when it throws, so it must be repeatable. */
export type SendMail<Kind extends MailKind = MailKind> = (
  ctx: SendingContext,
  request: MailRequest<Kind>,
) => Promise<void>;

type LimitedMailKind = 'sign_in_code' | 'portal_code' | 'password_reset' | 'invitation' | 'schedule_consent';

/** The maximum number of mails of each kind within a period; further requests are ignored. */
const REQUEST_LIMITS: Record<LimitedMailKind, { limit: number; periodMs: number }> = {
  sign_in_code: { limit: 5, periodMs: HOUR_MS },
  portal_code: { limit: 5, periodMs: HOUR_MS },
  password_reset: { limit: 5, periodMs: HOUR_MS },
  invitation: { limit: 5, periodMs: DAY_MS },
  schedule_consent: { limit: 5, periodMs: DAY_MS },
};
/** The time after which the scheduled run sends a mail that the request itself did not send. */
const FIRST_WAIT_MS = 60_000;
/** The times for which sending a mail is retried, where they are not a day: for codes not longer than the codes are valid. */
const RETRY_PERIODS_MS: Partial<Record<MailKind, number>> = {
  sign_in_code: HOUR_MS / 6,
  portal_code: HOUR_MS / 6,
  password_reset: HOUR_MS,
};
const getRetryPeriod = (kind: MailKind): number => RETRY_PERIODS_MS[kind] ?? DAY_MS;
/** The number of requests that one scheduled run sends. */
const SEND_BATCH_SIZE = 50;
/** Kinds counted by email address alone: naming other companies, or creating many, must not allow more mails. */
const KINDS_COUNTED_BY_ADDRESS: MailKind[] = ['password_reset', 'invitation', 'schedule_consent'];

/**
 * Requests a mail to somebody who did not necessarily ask for it: requests over the limit are ignored. Whatever depends on
 * whether the email address is known happens in `send`, after the response; if that fails, the scheduled run tries again.
 */
export async function requestMail<Kind extends Exclude<LimitedMailKind, 'invitation'>>(
  ctx: Context,
  request: MailRequest<Kind>,
  send: SendMail<Kind>,
): Promise<void> {
  const record = toRecord(ctx, request);
  const storedRequest = await insertLimitedRequest(ctx.db, record, listLimits(request.kind, record));
  if (countChangedRows(storedRequest) > 0) ctx.defer(sendClaimedRequest(ctx, record, send as SendMail));
}

const listLimits = (kind: LimitedMailKind, { requestedAt }: MailRequestRecord) => ({
  limit: REQUEST_LIMITS[kind].limit,
  since: requestedAt - REQUEST_LIMITS[kind].periodMs,
});

/**
 * Prepares the mail of an invitation: the statement that stores the request, and the function that sends the mail after the
 * commit. More than five requests a day for one address are silently not stored; `isStored` is the condition for other writes
 * of the same transaction. @param condition without which nothing is stored
 */
export function prepareInvitationMail(
  ctx: Context,
  request: MailRequest<'invitation'>,
  send: SendMail<'invitation'>,
  condition: Condition,
) {
  const record = toRecord(ctx, request);
  return {
    statement: insertLimitedRequest(ctx.db, record, listLimits('invitation', record), condition),
    isStored: isRequestStored(record.id),
    send: () => ctx.defer(() => sendClaimedRequest(ctx, record, send as SendMail)),
  };
}

/** Prepares mails to known users: the statements that store the requests, and the function that sends them after the commit. */
export const prepareMails = <Kind extends MailKind>(
  ctx: Context,
  requests: MailRequest<Kind>[],
  send: SendMail<Kind>,
) => prepareStoredMails(ctx, requests, send, insertRequest);

/** Prepares mails about a change: the statements store the requests if the statement before them changed a row. */
export const prepareMailsAfterChange = <Kind extends MailKind>(
  ctx: Context,
  requests: MailRequest<Kind>[],
  send: SendMail<Kind>,
) => prepareStoredMails(ctx, requests, send, insertRequestAfterChange);

function prepareStoredMails<Kind extends MailKind, Statement>(
  ctx: Context,
  requests: MailRequest<Kind>[],
  send: SendMail<Kind>,
  insert: (db: ControlDb, record: MailRequestRecord) => Statement,
) {
  const records = requests.map((request) => toRecord(ctx, request));
  const sendAllMails = async () => {
    for (const record of records) await sendClaimedRequest(ctx, record, send as SendMail);
  };
  return {
    statements: records.map((record) => insert(ctx.db, record)),
    send: () => ctx.defer(sendAllMails),
  };
}

/** Sends mails that are due, gives up on old ones and deletes finished ones. For the scheduled run. */
export async function sendDueMails(ctx: Context, senders: { [Kind in MailKind]: SendMail<Kind> }): Promise<void> {
  const now = ctx.now();
  const kinds = Object.keys(senders) as MailKind[];
  const { due, givenUp } = await commit(ctx.db, {
    due: claimDueRequests(ctx.db, now, SEND_BATCH_SIZE),
    done: deleteFinishedRequests(ctx.db, { dailyCutoff: now - DAY_MS, otherCutoff: now - HOUR_MS }),
    givenUp: kinds.map((kind) => giveUpRequests(ctx.db, kind, now - getRetryPeriod(kind))),
  });
  const count = givenUp.reduce((sum: number, result) => sum + countChangedRows(result), 0);
  if (count > 0) log('mails_given_up', { count });
  for (const request of due) {
    if (now - request.requestedAt > getRetryPeriod(request.kind)) continue;
    await sendClaimedRequest(ctx, request, senders[request.kind] as SendMail, now);
  }
}

function toRecord(
  ctx: Context,
  { kind, companyId, email, notice = null, about = null }: MailRequest,
): MailRequestRecord {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    kind,
    companyId,
    email,
    notice,
    about,
    countedAs: KINDS_COUNTED_BY_ADDRESS.includes(kind) ? `${kind}:${email}` : `${kind}:${companyId}:${email}`,
    requestedAt: now,
    dueAt: now + FIRST_WAIT_MS,
    attempts: 0,
  };
}

/**
 * Sends the mail of a request, unless the request was not stored, or was stored as done, because of the limit of
 * requests or the company's daily quota of mails, or somebody else has claimed it.
 * @param claimedAt when the request was claimed until `record.dueAt`
 */
async function sendClaimedRequest(
  ctx: Context,
  record: MailRequestRecord,
  send: SendMail,
  claimedAt = record.requestedAt,
): Promise<void> {
  const logFailure = (error: unknown) => logError('mail_failed', error, { mail_request_id: record.id });
  const claimMs = (record.dueAt ?? claimedAt) - claimedAt;
  let { dueAt } = record;
  const renewClaim = async (): Promise<boolean> => {
    const nextDueAt = ctx.now() + claimMs;
    const hasClaim = countChangedRows(await extendClaim(ctx.db, { ...record, dueAt }, nextDueAt)) > 0;
    if (hasClaim) dueAt = nextDueAt;
    return hasClaim;
  };
  let renewals: ReturnType<typeof setInterval> | undefined;
  try {
    // While the mails before it were sent, the claim may have run out: it begins anew, or another scheduled run has the request.
    if (!(await renewClaim())) return;
    // The mail service may answer later than the claim ends.
    renewals = setInterval(() => renewClaim().catch(logFailure), claimMs / 2);
    await sendAndFinishRequest(ctx, record, send);
  } catch (error) {
    // The mails after it are sent all the same.
    logFailure(error);
  } finally {
    clearInterval(renewals);
  }
}

/**
 * Sends the mail of a request and marks the request as done. A failed request stays due for the scheduled run, unless the mail
 * service rejects the mail permanently. A company's own request was reserved in its daily quota when it was stored, and its sent
 * mails are counted when it is done.
 */
async function sendAndFinishRequest(ctx: Context, record: MailRequestRecord, send: SendMail): Promise<void> {
  const { id } = record;
  let ownMailCount = 0;
  const sendToMailService = async (companyId: string, mail: Mail) => {
    if (companyId !== record.companyId) return sendWithinQuota(ctx, companyId, mail);
    await ctx.mailer.send(mail);
    ownMailCount += 1;
  };
  const markRequestFinished = (): Promise<unknown> =>
    commit(ctx.db, {
      finished: finishRequest(ctx.db, id),
      // Also where nobody has the address: what follows is the same then.
      counted:
        record.companyId === null
          ? []
          : [countUse(ctx.db, { companyId: record.companyId, at: ctx.now() }, 'mails', ownMailCount)],
    });
  try {
    await send({ ...ctx, sendToMailService }, record as MailRequest);
    await markRequestFinished();
  } catch (error) {
    const refusal = error instanceof MailRefusedError ? { code: error.code, permanent: error.isPermanent } : {};
    logError('mail_failed', error, { mail_request_id: id, ...refusal });
    if (error instanceof MailRefusedError && error.isPermanent) await markRequestFinished();
  }
}

/**
 * Sends a mail for a company other than the request's, and counts the mail against that company's daily quota. If the
 * quota is used up, the mail is not sent; if sending fails, the mail is not counted.
 */
async function sendWithinQuota(ctx: Context, companyId: string, mail: Mail): Promise<void> {
  const by = { companyId, at: ctx.now() };
  if (!(await consumeMailQuota(ctx.db, by))) return log('mail_over_quota', { company_id: companyId });
  try {
    await ctx.mailer.send(mail);
  } catch (error) {
    await countUse(ctx.db, by, 'mails', -1);
    throw error;
  }
}
