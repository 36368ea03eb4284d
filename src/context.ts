import { type Bindings, type Config, configOf } from './config.ts';
import { type ControlDb, openControlDb, openNearestControlDb } from './db/client.ts';
import { type JobQueue, jobQueue } from './jobs/messages.ts';
import { newId } from './kernel/ids.ts';
import type { Access } from './kernel/policy.ts';
import { withinJurisdiction } from './objects/jurisdiction.ts';
import { logError } from './platform/log.ts';
import { type Mailer, senderOf } from './platform/mail.ts';
import { cloudflareMailer } from './platform/mail-cloudflare.ts';
import { resendMailer } from './platform/mail-resend.ts';

/** A person with a session token. */
export interface UserActor {
  kind: 'user';
  id: string;
  companyId: string;
  companySlug: string;
  email: string;
  name: string;
  isOwner: boolean;
  sessionId: string;
  access: Access;
}

/** A program with a signing key. */
export interface ServiceAccountActor {
  kind: 'service_account';
  id: string;
  companyId: string;
  companySlug: string;
  accountId: string;
  keyId: string;
  access: Access;
}

/** Somebody from outside the company, known by an email address that a code was sent to. */
export interface OutsiderActor {
  kind: 'outsider';
  id: string;
  companyId: string;
  companySlug: string;
  email: string;
  sessionId: string;
}

/** Whoever holds the token of a share or of an embed. `Shown` is what the module that checked the token found behind it. */
export interface ViewerActor<Shown = unknown> {
  kind: 'viewer';
  companyId: string;
  /** What requests are counted under; never the token itself. */
  tokenId: string;
  /** Origins whose pages may use the token; none are named where all may. */
  allowedOrigins: readonly string[];
  shown: Shown;
}

/** The platform's operator, who creates organizations and belongs to none. */
export interface OperatorActor {
  kind: 'operator';
}

export interface AnonymousActor {
  kind: 'anonymous';
}

/** Background work on behalf of a company: queue messages and scheduled runs. */
export interface SystemActor {
  kind: 'system';
  companyId: string;
}

export type Principal = UserActor | ServiceAccountActor;
export type Actor = Principal | OutsiderActor | ViewerActor | OperatorActor | AnonymousActor | SystemActor;

/** What a request tells about where it comes from. Anybody may send anything here. */
export interface Caller {
  /** ISO 3166 code, as the edge sees it. */
  country: string | null;
  userAgent: string | null;
  /** Origin of the page that sent the request. */
  origin: string | null;
  /** That page is one of ours, or there is none. */
  fromOwnPage: boolean;
}

const NOBODY: Caller = { country: null, userAgent: null, origin: null, fromOwnPage: true };

/** Whose a request without a credential turned out to be. */
export interface RequestOwner {
  companyId: string;
  principal?: { type: 'user' | 'outsider'; id: string };
}

/** All that a service may reach for. Made once per request, queue message or scheduled run. */
export interface Context<A extends Actor = Actor> {
  readonly actor: A;
  /**
   * The control database, opened `first-primary`: revocations act on the next request. For holders of a token the nearest
   * replica answers.
   */
  readonly db: ControlDb;
  readonly config: Config;
  /** Objects of the platform that have no port of their own (Durable Objects). */
  readonly bindings: Bindings;
  /** Uploaded files. */
  readonly files: R2Bucket;
  readonly jobs: JobQueue;
  readonly mailer: Mailer;
  /** Address of this API as the caller reached it, without a trailing slash. */
  readonly baseUrl: string;
  /** The caller's address, or null in the background. */
  readonly ip: string | null;
  /** What the request tells of where it comes from. */
  caller(): Caller;
  readonly correlationId: string;
  /**
   * Says of a request that came without a credential which company it is made for, and who of that company is known by now
   * to have made it: its record in the audit trail is theirs.
   */
  belongsTo(companyId: string, principal?: RequestOwner['principal']): void;
  /** Milliseconds since the epoch. */
  now(): number;
  newId(): string;
  /** Work that may go on after the answer was sent. */
  defer(work: Promise<unknown>): void;
  /** Something to close when the request ends, in reverse order. Failures of it are logged, never answered. */
  cleanup(close: () => Promise<void>): void;
}

/** A context that belongs to a company: every query filters by this id. */
export type CompanyContext = Context<Principal | OutsiderActor | ViewerActor | SystemActor>;
export type PrincipalContext = Context<Principal>;
export type UserContext = Context<UserActor>;

/** Cloudflare sends mails, unless another service is configured. */
function mailerOf({ EMAIL }: Bindings, config: Config): Mailer {
  const { MAIL_FROM, MAIL_PROVIDER, MAIL_API_URL: baseUrl, MAIL_API_KEY: apiKey = '' } = config;
  const sender = senderOf(MAIL_FROM);
  return MAIL_PROVIDER === 'resend' ? resendMailer({ baseUrl, apiKey, sender }) : cloudflareMailer(EMAIL, sender);
}

/** What a context is made of: where the work comes from and on whose behalf. */
export interface Origin {
  env: Bindings;
  waitUntil(work: Promise<unknown>): void;
  correlationId: string;
  baseUrl: string;
  ip: string | null;
  caller?(): Caller;
  /** Takes what `belongsTo` says. */
  noteOwner?(owner: RequestOwner): void;
}

/** One per isolate, so that a test can move the clock. Milliseconds since the epoch. */
export const clock = { now: (): number => Date.now() };

/**
 * A context and the way to end it: `close` runs the cleanups, whatever happened.
 * @param options `nearest` lets any replica of the control database answer
 */
export function openContext<A extends Actor>(
  origin: Origin,
  actor: A,
  { nearest = false } = {},
): { context: Context<A>; close(): Promise<void> } {
  const config = configOf(origin.env);
  const closers: (() => Promise<void>)[] = [];
  const context: Context<A> = {
    actor,
    db: nearest ? openNearestControlDb(origin.env.CONTROL_DB) : openControlDb(origin.env.CONTROL_DB),
    config,
    bindings: withinJurisdiction(origin.env, config.DATA_JURISDICTION),
    files: origin.env.FILES,
    jobs: jobQueue(origin.env, origin.correlationId),
    mailer: mailerOf(origin.env, config),
    baseUrl: config.PUBLIC_URL ?? origin.baseUrl,
    ip: origin.ip,
    caller: () => origin.caller?.() ?? NOBODY,
    correlationId: origin.correlationId,
    belongsTo: (companyId, principal) => origin.noteOwner?.({ companyId, ...(principal && { principal }) }),
    now: () => clock.now(),
    newId: () => newId(clock.now()),
    defer: (work) => origin.waitUntil(work),
    cleanup: (closer) => {
      closers.push(closer);
    },
  };
  return {
    context,
    async close() {
      for (const closer of closers.reverse()) {
        try {
          await closer();
        } catch (error) {
          logError('cleanup_failed', error);
        }
      }
    },
  };
}
