import type { ZodType, z } from 'zod';
import type {
  AnonymousActor,
  OperatorActor,
  OutsiderActor,
  Principal,
  ServiceAccountActor,
  ViewerActor,
} from '../access/actors.ts';
import type { Context, PrincipalContext } from '../context.ts';
import type { FailureType } from '../kernel/failure.ts';
import type { PreparedResponse } from '../kernel/files.ts';
import type { UnreadList } from '../kernel/unread-json.ts';
import { type Action, isAction, type ResourceType } from '../permissions/actions.ts';
import type { Credential, Surface } from './surface.ts';
import type { ReadStamps } from './waiting.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The purpose of a token that stands in a path, `{token}`. */
export type TokenKind = 'share' | 'embed-dashboard' | 'embed-visualization' | 'data-result' | 'company-export';

/**
 * Who may call:
 * - `public` anyone · `optional` anyone; a good credential makes the caller known · `authenticated` any principal of the surface
 * - `pending` any principal, or somebody in the middle of signing in: the service takes the token of the body
 * - an action: a principal that is allowed it on the resource the path names (`{id}`, or all of the type)
 * - `{ action, on }` the same where the resource's ARN is not made of its id: `on` finds it by the first parameter of the path
 * - `administrator` · `operator` of the platform
 * - `token` whoever holds the token in the path
 * - `decidedBy` a sentence: authenticated here, the rest is decided by the service because it depends on the data; who is
 *   allowed none of `anyOf` on anything goes no further
 */
export type RouteAccess =
  | 'public'
  | 'optional'
  | 'authenticated'
  | 'pending'
  | 'administrator'
  | 'operator'
  | Action
  | { action: Action; on: LocateResource }
  | { token: TokenKind }
  | { decidedBy: string; anyOf?: readonly Action[] };

/**
 * Returns the ARN of the resource that the first parameter of the path names. For a resource that does not exist it is the ARN
 * of all resources of the type, so that only callers who may act on all of them learn that it does not exist.
 */
export type LocateResource = (ctx: PrincipalContext, id: string) => Promise<string>;

/** The action of the catalogue that a route asks for, or null where it asks for something else. */
export function getAction(access: RouteAccess): Action | null {
  if (typeof access === 'object') return 'action' in access ? access.action : null;
  return isAction(access) ? access : null;
}

/** The status and body of a success. Made by `ok`, `created`, `accepted`, `noContent`, `prepared` and `raw`. */
export type Returns =
  | { status: 200 | 201 | 202; body: ZodType }
  | { status: 200; json: ZodType; mediaTypes: readonly string[] }
  | { status: 204 }
  | RawReturns;

/** An answer that the handler builds. */
interface RawReturns {
  status: 200 | 201 | 204 | 302 | 400;
  raw: string;
  mediaTypes: readonly string[];
}

export const ok = <S extends ZodType>(body: S) => ({ status: 200, body }) as const;
export const created = <S extends ZodType>(body: S) => ({ status: 201, body }) as const;
export const accepted = <S extends ZodType>(body: S) => ({ status: 202, body }) as const;
export const noContent = { status: 204 } as const;
/** JSON of this shape, which the handler may have as bytes already, or another media type that the caller asks for. */
export const prepared = <S extends ZodType>(json: S, ...mediaTypes: string[]) =>
  ({ status: 200, json, mediaTypes }) as const;
/** An answer the handler builds itself: a page, a redirect. `description` describes it; a redirect has no media type. */
export const raw = <S extends RawReturns['status']>(status: S, description: string, ...mediaTypes: string[]) =>
  ({ status, raw: description, mediaTypes }) as const;

/** A caller with a credential of their own. */
type Credentialed = Principal | OutsiderActor;

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

type Parsed<S> = S extends ZodType ? z.output<S> : undefined;

type ActorOf<A extends RouteAccess, P extends Credentialed, V extends ViewerActor> = A extends 'public'
  ? AnonymousActor
  : A extends 'optional' | 'pending'
    ? AnonymousActor | P
    : A extends 'operator'
      ? OperatorActor
      : A extends { token: TokenKind }
        ? V
        : P;

type CallersOf<C extends Contract, P extends Credentialed> = C extends { only: 'people' }
  ? Exclude<P, ServiceAccountActor>
  : P;

type HandlerResult<R extends Returns> = R extends { body: infer S extends ZodType }
  ? z.input<S>
  : R extends { json: infer S extends ZodType }
    ? z.input<S> | Response | PreparedResponse
    : R extends { raw: string }
      ? Response | PreparedResponse
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer may return nothing at all.
        void;

/** The way in which the answer of a GET gets its version, the `ETag`. */
export interface Versioned {
  /** Fields that do not count: times of last use, and counters. */
  ignoredFields: readonly string[];
  /** Fields shown only where the query requests them: they count for `If-None-Match`, not for a write's version. */
  optionalFields?: readonly string[];
  /** Reads the version from the response itself, which then replaces the digest; undefined where the response contains none. */
  readVersion?: (shown: object) => string | undefined;
  /** Whether the database or the service checks the version in a write; for `service` see `Context.requireVersion`. */
  checkedBy: 'database' | 'service';
}

/** Computes a response's version from all of its fields except these; the database checks `If-Match`. */
export const versioned = (...without: string[]): Versioned => ({ ignoredFields: without, checkedBy: 'database' });

/** The headers of a protocol that others define, such as resumable uploads. */
export interface Protocol {
  /** Headers of all answers, refusals too, with their values. */
  answerHeaders: Readonly<Record<string, string>>;
  /** Further headers of the answer to OPTIONS on the path, with their values. */
  optionsHeaders: Readonly<Record<string, string>>;
  /** Headers that are read from a request, with descriptions. An idempotency key stands for their values, too. */
  requestHeaders: Readonly<Record<string, string>>;
  /** Headers that a success may have, with descriptions. */
  successHeaders: Readonly<Record<string, string>>;
}

/** The contract of a route: routing, validation, authorization and /openapi.json are derived from it. */
export interface Contract {
  method: Method;
  /** The path in OpenAPI's form: `/accounts/{id}`. */
  path: string;
  access: RouteAccess;
  /** The action under which the audit trail records a way of signing in, which needs no permission: `auth:login`. */
  recordedAs?: string;
  /**
   * A further restriction of the callers, besides `access`. `administrators`: only administrators and the owner, for routes
   * whose changes could give access to everything. `people`: no service accounts, for routes about a user's own session,
   * password or second factor. `owner`: the company's owner alone.
   */
  only?: 'administrators' | 'people' | 'owner';
  /**
   * Whether access tokens of OAuth clients are accepted, where that does not follow from `access`. Clients are authorized for
   * actions, so by default they are rejected by routes that require none, and accepted by `decidedBy` routes, which require
   * some.
   */
  forPrograms?: boolean;
  /** An action whose Deny keeps principals off the route. Nobody needs an Allow of it. */
  unlessDenied?: Action;
  /** The parameter of the query that only administrators and the owner may send as `true`. */
  administratorsWith?: string;
  /**
   * The resource type that the path's `{id}` names, where that is not the first of the action's service: another type of it, or
   * `none` when the id is of another service, so that the action is checked on all resources of the type.
   */
  resource?: ResourceType | 'none';
  /** The path parameter with the id of the resource that the action is checked on, if it is not `id`. */
  resourceIdParameter?: string;
  /** The kind of credential that callers send, where it is not the surface's. */
  credential?: Credential;
  /** The method's name in generated clients, such as `replaceGroupPermissions`. Unique, and kept for good. */
  operationId: string;
  /** The route's name for people, `Replace a group's permissions`: begins with the same verb, and has no full stop. */
  summary: string;
  /** More than the summary: what is returned or refused, what else changes, limits. No two routes have the same. */
  description: string;
  query?: ZodType;
  /** Whether the query may have parameters that it does not know: of pages, and of addresses that others make. */
  openQuery?: true;
  /** The JSON body. */
  body?: ZodType;
  /** Wraps reading the JSON body, where an attempt counts even if its body is invalid, or that has its own failure. */
  wrapBodyRead?: (ctx: Context, read: () => Promise<unknown>) => Promise<void>;
  /**
   * The fields of a multipart body, for the description only: the handler reads the stream itself. Beside a `body`, the
   * caller chooses by the content type; the handler of a form is given no body.
   */
  form?: ZodType;
  /** The media types of a body that the handler reads by itself, for the description only. */
  raw?: Readonly<Record<string, ZodType>>;
  /** Numbers of the body that a double cannot hold arrive as `ExactNumber`, with all their digits. */
  exactNumbers?: boolean;
  /** For a body that may be large: the list whose objects the handler reads by itself, one after another. */
  unread?: UnreadList;
  /**
   * For a write that changes permissions: with `dry_run=true` it answers who would gain and who would lose what, and changes
   * nothing. All that it changes of access names an id of the path, or a principal that the change is announced for.
   */
  dryRun?: true;
  /** For a POST that asks for something and changes nothing, so that it may be repeated. It ignores an idempotency key. */
  safe?: true;
  /**
   * A check before a stored response is repeated under an idempotency key, for routes where more than `access` decides and it
   * depends on data other than the caller's access. Where no GET of the surface shows the resource of the path, it also checks
   * that the resource exists.
   * @throws as the service does
   */
  checkBeforeReplay?: (ctx: PrincipalContext, params: Record<string, string>) => Promise<unknown>;
  /** Where `access` is `pending`: the member of the body with the token of somebody in the middle of signing in. */
  pendingTokenField?: string;
  /** For a write: members shown by the record's GET that the write changes, although its body has no member of that name. */
  alsoChanges?: readonly string[];
  /**
   * For a write with a body: how to change members that the record's GET shows but that no body member of the same name changes
   * on this surface. The value names another member of the body, or a route of another surface.
   */
  changedBy?: Readonly<Record<string, string>>;
  /** For a POST whose body is made of what the GET of the path's record shows: the member that it is made of. */
  bodySourceField?: string;
  /** For the audit trail: the field of the body with the id or ids of what is attached to the resource of the path, or to what is made. */
  attachedIdField?: string;
  /** The path, without the id, at which a resource that a 201 made can be read, when that is not beneath the route's own path. */
  createdUnder?: string;
  /** For a GET: its answer has a version, and the writes of the same path can be made for that version. */
  versioned?: Versioned;
  /** Leaves parts out of an answer that the query does not ask for. Its version is that of the whole answer. */
  narrowAnswer?: (shown: object, query: unknown) => object;
  /** For such a GET, whose caller can wait for another version: tells whether there may be one. Made by `waiting`. */
  readStamps?: ReadStamps;
  /** For a write: the path of the GET whose version it is made for, when that is not its own. */
  versionPath?: string;
  /** For a write whose answer shows a record in a form of its own: the path of the GET that shows the record. */
  shownPath?: string;
  /** Largest JSON body in bytes; 1 MiB by default. */
  bodyLimit?: number;
  returns: Returns;
  /** The protocol of a route that has its own, in headers. */
  protocol?: Protocol;
  /** The requests that it answers with 202 and no body in the place of `returns`, in words. */
  acknowledgedRequests?: string;
  /** The failures it can answer with, besides those that its declarations imply (`impliedFailures`). */
  fails?: readonly FailureType[];
  /** Failures that are told in another shape than the surface's, and redirects of a page, by status. */
  otherAnswers?: Readonly<Record<number, ZodType | RawReturns>>;
  /** Whether pages of any origin may call it and read the response, which reveals nothing that they do not know. */
  anyOrigin?: true;
}

/** Whether a route accepts access tokens of OAuth clients. */
export const acceptsOAuthClients = ({ access, forPrograms }: Contract): boolean =>
  forPrograms ?? (getAction(access) !== null || (typeof access === 'object' && 'decidedBy' in access));

/**
 * Whether a route has no body, so that JSON with a member is refused. Pages and protocols of others leave alone what is sent, and
 * so does a sign-out, which fails for nobody.
 */
export const takesNoBody = ({ method, access, body, form, raw, openQuery, protocol }: Contract): boolean =>
  method !== 'get' && access !== 'optional' && !body && !form && !raw && !openQuery && !protocol;

const DEFAULT_BODY_LIMIT = 1024 * 1024;

export const getBodyLimit = ({ bodyLimit }: Contract): number => bodyLimit ?? DEFAULT_BODY_LIMIT;

/** The arguments of a handler: validated input and the context of the caller. */
export interface Call<C extends Contract, P extends Credentialed, V extends ViewerActor> {
  ctx: Context<ActorOf<C['access'], CallersOf<C, P>, V>>;
  params: Record<PathParameter<C['path']>, string>;
  query: Parsed<C['query']>;
  body: C extends { body: ZodType; form: ZodType } ? Parsed<C['body']> | undefined : Parsed<C['body']>;
  /** Headers and, for multipart bodies, the stream. */
  request: Request;
  perform: Perform;
}

/** The input of a route that another one performs: its path's parameters, its query, its body as parsed JSON. */
export interface RouteInput {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

/** A route with the surface whose words it uses. */
export interface Route {
  surface: Surface;
  endpoint: Endpoint;
}

/**
 * Performs another route for the same caller within this request: it is authorized, validated and recorded as that route, and
 * its failures are thrown. Credential and rate limits are those of the request.
 * @param ask makes the route's input; a failure that it throws is also recorded as a failure of that route
 */
export type Perform = (route: Route, ask: () => RouteInput) => Promise<unknown>;

/** A contract with its handler, as `mount` takes it. */
export interface Endpoint {
  contract: Contract;
  // biome-ignore lint/suspicious/noExplicitAny: the contract's types are checked where the endpoint is declared.
  handle: (call: any) => Promise<unknown>;
}

/** The `endpoint` function of a surface, for callers that are `P`, and holders of tokens that are `V`. */
export function endpointFor<P extends Credentialed, V extends ViewerActor = ViewerActor>() {
  return <const C extends Contract>(
    contract: C,
    handle: (call: Call<C, P, V>) => Promise<HandlerResult<C['returns']>> | HandlerResult<C['returns']>,
  ): Endpoint => ({ contract, handle: async (call) => handle(call) });
}
