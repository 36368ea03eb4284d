import type {
  Actor,
  AnonymousActor,
  OutsiderActor,
  Principal,
  SystemActor,
  UserActor,
  ViewerActor,
} from './access/actors.ts';
import type { AffectedPrincipals } from './access/commit-access.ts';
import type { PresentedCredential, PresentedOutsider } from './access/known-principals.ts';
import { type Bindings, type Config, readConfig } from './config.ts';
import { type ControlDb, openControlDb, openNearestControlDb } from './db/client.ts';
import { clock } from './kernel/clock.ts';
import { newId } from './kernel/ids.ts';
import { Meter } from './kernel/meter.ts';
import { changeAccess } from './objects/change-access.ts';
import { limitToJurisdiction } from './objects/jurisdiction.ts';
import type { Action } from './permissions/actions.ts';
import { createJobQueue, type JobQueue } from './platform/job-messages.ts';
import { logError } from './platform/log.ts';
import { type Mailer, parseSender } from './platform/mail.ts';
import { createCloudflareMailer } from './platform/mail-cloudflare.ts';
import { createResendMailer } from './platform/mail-resend.ts';
import { DEFAULT_LOCALE, type Locale } from './texts/locales.ts';

/** Caller of a request, as the request itself says: its values may be forged. */
export interface Caller {
  /** ISO 3166 code, as the edge sees it. */
  country: string | null;
  userAgent: string | null;
  /** Origin of the page that sent the request. */
  origin: string | null;
  /** True if a page of this service sent the request, or no page. */
  isFromOwnPage: boolean;
  /** Supported language that the request prefers; English if it accepts no supported one. */
  locale: Locale;
}

const UNKNOWN_CALLER: Caller = {
  country: null,
  userAgent: null,
  origin: null,
  isFromOwnPage: true,
  locale: DEFAULT_LOCALE,
};

/** Company and principal of a request without a credential, or refused before its credential was checked. */
export interface RequestOwner {
  companyId: string;
  principal?: { type: 'user' | 'service_account' | 'outsider'; id: string; credential?: string };
}

/** Resources of a service: database, files, queues, settings and more. Made once per request, queue message or scheduled run. */
export interface Context<A extends Actor = Actor> {
  readonly actor: A;
  /** The control database, opened `first-primary`: revocations act at once. For token holders, the nearest replica. */
  readonly db: ControlDb;
  readonly config: Config;
  /** Bindings of the platform that have no interface of their own (Durable Objects). */
  readonly bindings: Bindings;
  /** Store of the uploaded files. */
  readonly files: R2Bucket;
  readonly jobs: JobQueue;
  readonly mailer: Mailer;
  /** Address of this API as the caller reached it, without a trailing slash. */
  readonly baseUrl: string;
  /** The caller's address, or null in the background. */
  readonly ip: string | null;
  /** Returns the caller of the request, as the request claims. */
  caller(): Caller;
  readonly correlationId: string;
  /** Meter of the used resources. */
  readonly meter: Meter;
  /** Sets the company and principal of a request without a credential: its audit record is stored under them. */
  setOwner(companyId: string, principal?: RequestOwner['principal']): void;
  /** Sets the action of the audit record, where the route does not determine it, and ids of further affected records. */
  setAuditAction(action: Action, ids?: readonly string[]): void;
  /**
   * Changes permissions, or creates, deactivates or deletes principals: no request that begins after the returned
   * promise resolves is authorized by the previous state. `work` is one `commit`: see `commitAccess`. Outside of
   * `work`, a commit that changes access fails.
   */
  changeAccess<T>(affectedPrincipals: AffectedPrincipals, work: () => Promise<T>): Promise<T>;
  /**
   * Set if the request names the version of a record in the company's Postgres: checks that version, while the write holds its
   * lock, against the record as the surface shows it.
   * @throws where the version differs
   */
  readonly requireVersion?: (shownRecord: object) => Promise<void>;
  /** Milliseconds since the epoch. */
  now(): number;
  newId(): string;
  /** Registers work that may continue after the answer was sent. A function is called at once, but not in a dry run. */
  defer(work: Promise<unknown> | (() => Promise<unknown>)): void;
  /** Registers a function that runs when the request ends, the last registered first. Its failures are logged, never answered. */
  cleanup(close: () => Promise<void>): void;
}

/** A context that belongs to a company: every query filters by this id. */
export type CompanyContext = Context<Principal | OutsiderActor | ViewerActor | SystemActor>;
export type PrincipalContext = Context<Principal>;
export type UserContext = Context<UserActor>;

/** Request that a credential is read from. Its body can be read again afterwards. */
export interface IncomingRequest {
  readonly method: string;
  readonly url: string;
  readonly raw: Request;
  header(name: string): string | undefined;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** Checks a request's credential as far as possible without a database or Durable Object; an outsider's completely. */
export type Authenticate = (
  ctx: Context<AnonymousActor>,
  request: IncomingRequest,
) => Promise<PresentedCredential | PresentedOutsider>;

/** Checks that the request carries the operator's token. @throws unless it does */
export type AuthenticateOperator = (ctx: Context<AnonymousActor>, request: IncomingRequest) => Promise<void>;

/**
 * Finds the record that the token in a path gives access to.
 * @param count counts the request against the limit of this token (by an id of it, never the token itself) as soon as the token
 * is verified, and throws when there were too many requests; null for a preflight, which is neither counted nor recorded
 */
export type VerifyViewerToken = (
  ctx: Context<AnonymousActor>,
  token: string,
  count: ((tokenId: string) => Promise<void>) | null,
) => Promise<ViewerActor>;

/** Creates the mailer: Cloudflare's, unless another service is configured. */
function createMailer({ EMAIL }: Bindings, config: Config): Mailer {
  const { MAIL_FROM, MAIL_PROVIDER, MAIL_API_URL: baseUrl, MAIL_API_KEY: apiKey = '' } = config;
  const sender = parseSender(MAIL_FROM);
  return MAIL_PROVIDER === 'resend'
    ? createResendMailer({ baseUrl, apiKey, sender })
    : createCloudflareMailer(EMAIL, sender);
}

/** Queues messages that send events to webhook endpoints. The scheduled run sends a lost message again. */
async function queueWebhookDeliveries(jobs: JobQueue, companyIds: readonly string[]): Promise<void> {
  try {
    await jobs.sendAll(companyIds.map((companyId) => ({ type: 'webhooks.tell', companyId }) as const));
  } catch (error) {
    logError('events_not_told', error, { companies: companyIds.length });
  }
}

/** Origin of a unit of work, from which a context is made. */
export interface ContextOrigin {
  env: Bindings;
  waitUntil(work: Promise<unknown>): void;
  correlationId: string;
  baseUrl: string;
  ip: string | null;
  /** Meter shared by all contexts of one origin. */
  meter?: Meter;
  caller?(): Caller;
  /** Called with the owner that `setOwner` sets. */
  noteOwner?(owner: RequestOwner): void;
  /** Called after a change of access was committed. */
  noteAccessChange?(affectedPrincipals: AffectedPrincipals): void;
  /** Called with the action that `setAuditAction` sets. */
  noteAction?(action: Action, ids: readonly string[]): void;
}

/** Opens a context; `close` runs its cleanups. @param options.nearest allows a replica, at most five seconds old */
export function openContext<A extends Actor>(
  origin: ContextOrigin,
  actor: A,
  { nearest = false } = {},
): { context: Context<A>; close(): Promise<void> } {
  const config = readConfig(origin.env);
  const closers: (() => Promise<void>)[] = [];
  const context: Context<A> = {
    actor,
    db: nearest
      ? openNearestControlDb(origin.env.CONTROL_DB, () => clock.now())
      : openControlDb(origin.env.CONTROL_DB, (companyIds) =>
          origin.waitUntil(queueWebhookDeliveries(context.jobs, companyIds)),
        ),
    config,
    bindings: limitToJurisdiction(origin.env, config.DATA_JURISDICTION),
    files: origin.env.FILES,
    jobs: createJobQueue(origin.env, origin.correlationId),
    mailer: createMailer(origin.env, config),
    baseUrl: config.PUBLIC_URL ?? origin.baseUrl,
    ip: origin.ip,
    caller: () => origin.caller?.() ?? UNKNOWN_CALLER,
    correlationId: origin.correlationId,
    meter: origin.meter ?? new Meter(),
    setOwner: (companyId, principal) => origin.noteOwner?.({ companyId, ...(principal && { principal }) }),
    setAuditAction: (action, ids = []) => origin.noteAction?.(action, ids),
    async changeAccess(affectedPrincipals, work) {
      const result = await changeAccess(
        { ...context, gates: context.bindings.ORGANIZATION_GATE },
        affectedPrincipals,
        work,
      );
      origin.noteAccessChange?.(affectedPrincipals);
      return result;
    },
    now: () => clock.now(),
    newId: () => newId(clock.now()),
    defer: (work) => origin.waitUntil(typeof work === 'function' ? work() : work),
    cleanup: (closeResource) => {
      closers.push(closeResource);
    },
  };
  return {
    context,
    async close() {
      for (const closeResource of closers.splice(0).reverse()) {
        try {
          await closeResource();
        } catch (error) {
          logError('cleanup_failed', error);
        }
      }
    },
  };
}
