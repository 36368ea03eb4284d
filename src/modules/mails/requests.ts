import type { Context } from '../../context.ts';
import { changes, commit } from '../../db/client.ts';
import type { Notice } from '../../db/schema/mails.ts';
import { log, logError } from '../../platform/log.ts';
import { MailRefused } from '../../platform/mail.ts';
import {
  claimDue,
  deleteDone,
  finishRequest,
  giveUp,
  insertLimitedRequest,
  insertRequest,
  insertRequestAfterChange,
  isKept,
  type MailRequestRecord,
  selectRequest,
} from './store.ts';

export type MailKind = MailRequestRecord['kind'];

/** Whom a mail was asked for. */
export interface MailRequest<Kind extends MailKind = MailKind> {
  kind: Kind;
  /** Null only for password resets, which are about every company that knows the email. */
  companyId: Kind extends 'password_reset' ? string | null : string;
  /** Lower-case. */
  email: string;
  /** What a notice is of. */
  notice?: Kind extends 'notice' ? Notice : null;
}

/** Makes what the mail holds and sends it. Called again when it throws, so it must not matter if it ran before. */
export type SendMail<Kind extends MailKind = MailKind> = (ctx: Context, request: MailRequest<Kind>) => Promise<void>;

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const REQUESTS_PER_HOUR = 5;
/** To one address, by all companies together. */
const INVITATIONS_PER_DAY = 5;
/** The scheduled run leaves a request to those who made it for so long. */
const FIRST_WAIT_MS = 60_000;
/** How long a mail that cannot be sent is worth trying: whoever asked for a code will not wait longer for it. */
const WORTH_TRYING_MS: Record<MailKind, number> = {
  sign_in_code: HOUR_MS / 6,
  portal_code: HOUR_MS / 6,
  password_reset: HOUR_MS,
  invitation: DAY_MS,
  notice: DAY_MS,
  password_changed: DAY_MS,
  second_factor_enabled: DAY_MS,
  second_factor_disabled: DAY_MS,
  second_factor_reset: DAY_MS,
  backup_codes_renewed: DAY_MS,
};
/** Requests that one scheduled run takes up. */
const RUN_LIMIT = 50;
/**
 * Kinds that are counted by address alone: a reset is asked for without a company, so naming one must not give five more, and
 * whoever founds many companies must not get five invitations a day of each.
 */
const OF_ALL_COMPANIES: MailKind[] = ['password_reset', 'invitation'];

/**
 * Asks for a mail that a stranger may ask for: at most 5 an hour, more are ignored without a word. All that depends on
 * whether the email is known happens in `send`, after the answer; if that fails, the scheduled run tries again.
 */
export async function requestMail<Kind extends 'sign_in_code' | 'portal_code' | 'password_reset'>(
  ctx: Context,
  request: MailRequest<Kind>,
  send: SendMail<Kind>,
): Promise<void> {
  const record = recordOf(ctx, request);
  const since = ctx.now() - HOUR_MS;
  const [stored] = await commit(ctx.db, [insertLimitedRequest(ctx.db, record, { limit: REQUESTS_PER_HOUR, since })]);
  if (changes(stored) > 0) ctx.defer(serve(ctx, record.id, () => send(ctx, request)));
}

/**
 * The mail of an invitation: the statement that asks for it, and what sends it once that is stored. More than 5 a day to one
 * address are not kept, whoever asks, and nobody is told: `kept` is true where this one was, for other writes of the batch.
 */
export function prepareInvitationMail(ctx: Context, request: MailRequest<'invitation'>, send: SendMail<'invitation'>) {
  const record = recordOf(ctx, request);
  const limits = { limit: INVITATIONS_PER_DAY, since: record.requestedAt - DAY_MS };
  const sendIfKept = async () => {
    const [found] = await selectRequest(ctx.db, record.id);
    if (found) await send(ctx, request);
  };
  return {
    statement: insertLimitedRequest(ctx.db, record, limits),
    kept: isKept(record.id),
    send: () => ctx.defer(serve(ctx, record.id, sendIfKept)),
  };
}

/** The mail that tells of a change: the statement that asks for it if the one before it changed a row, and what sends it. */
export function prepareMailAfterChange<Kind extends MailKind>(
  ctx: Context,
  request: MailRequest<Kind>,
  send: SendMail<Kind>,
) {
  const record = recordOf(ctx, request);
  return {
    statement: insertRequestAfterChange(ctx.db, record),
    send: () => ctx.defer(serve(ctx, record.id, () => send(ctx, request))),
  };
}

/** Mails to people who are known: the statements that ask for them, and what sends them once those are stored. */
export function prepareMails<Kind extends MailKind>(ctx: Context, requests: MailRequest<Kind>[], send: SendMail<Kind>) {
  const records = requests.map((request) => recordOf(ctx, request));
  const sendAll = async () => {
    for (const [at, record] of records.entries()) {
      await serve(ctx, record.id, () => send(ctx, requests[at] as MailRequest<Kind>));
    }
  };
  return {
    statements: records.map((record) => insertRequest(ctx.db, record)),
    send: () => ctx.defer(sendAll()),
  };
}

/** The scheduled run's part: tries again what could not be sent, until it is not worth it, and forgets what is done. */
export async function sendDueMails(ctx: Context, senders: { [Kind in MailKind]: SendMail<Kind> }): Promise<void> {
  const now = ctx.now();
  const kinds = Object.keys(WORTH_TRYING_MS) as MailKind[];
  const [due, , ...givenUp] = await commit(ctx.db, [
    claimDue(ctx.db, now, RUN_LIMIT),
    deleteDone(ctx.db, { invitations: now - DAY_MS, others: now - HOUR_MS }),
    ...kinds.map((kind) => giveUp(ctx.db, kind, now - WORTH_TRYING_MS[kind])),
  ]);
  const lost = givenUp.reduce((sum: number, result) => sum + changes(result), 0);
  if (lost > 0) log('mails_given_up', { count: lost });
  for (const request of due as MailRequestRecord[]) {
    if (now - request.requestedAt > WORTH_TRYING_MS[request.kind]) continue;
    const send = senders[request.kind] as SendMail;
    await serve(ctx, request.id, () => send(ctx, request as MailRequest));
  }
}

function recordOf(ctx: Context, { kind, companyId, email, notice = null }: MailRequest): MailRequestRecord {
  const now = ctx.now();
  return {
    id: ctx.newId(),
    kind,
    companyId,
    email,
    notice,
    countedAs: OF_ALL_COMPANIES.includes(kind) ? `${kind}:${email}` : `${kind}:${companyId}:${email}`,
    requestedAt: now,
    dueAt: now + FIRST_WAIT_MS,
    attempts: 0,
  };
}

/**
 * A request that fails stays due, for the scheduled run; unless the mail service says that this mail can never be sent.
 */
async function serve(ctx: Context, id: string, send: () => Promise<void>): Promise<void> {
  try {
    await send();
    await finishRequest(ctx.db, id);
  } catch (error) {
    const refusal = error instanceof MailRefused ? { code: error.code, permanent: error.permanent } : {};
    logError('mail_failed', error, { mail_request_id: id, ...refusal });
    if (error instanceof MailRefused && error.permanent) await finishRequest(ctx.db, id);
  }
}
