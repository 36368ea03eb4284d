import type { ZodType, z } from 'zod';
import type {
  AnonymousActor,
  OperatorActor,
  OutsiderActor,
  Principal,
  ServiceAccountActor,
  ViewerActor,
} from '../access/actors.ts';
import type { Config } from '../config.ts';
import type { Context, PrincipalContext } from '../context.ts';
import type { FailureType } from '../kernel/failure.ts';
import type { PreparedResponse } from '../kernel/files.ts';
import type { UnreadList } from '../kernel/unread-json.ts';
import { type Action, isAction, type ResourceType } from '../permissions/actions.ts';
import type { Credential, Surface } from './surface.ts';
import type { ReadRecordVersions } from './waiting.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Kind of a token in a path, `{token}`. */
export type TokenKind = 'share' | 'embed-dashboard' | 'embed-visualization' | 'data-result' | 'company-export';

/**
 * Callers that a route accepts:
 * - `public`: anyone
 * - `optional`: anyone; a valid credential identifies the caller
 * - `authenticated`: any principal of the surface
 * - `pending`: any principal, or somebody in the middle of signing in, whose token the service takes from the body
 * - `administrator`: an administrator or the owner
 * - `operator`: the operator of the platform
 * - an action: a principal that is allowed the action on the resource that the path names (`{id}`, or all of the type)
 * - `{ action, on }`: the same for a resource whose ARN is not made of its id: `on` finds the ARN by the first
 *   parameter of the path
 * - `{ token }`: whoever holds the token in the path
 * - `{ decidedBy, anyOf }`: any principal; the service decides further, by data, as the sentence `decidedBy` says.
 *   Callers who are allowed none of the actions `anyOf` on any resource are refused before. The endpoint then declares a
 *   `checkPath`, unless the decision depends on the body or the query
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
 * Finds the ARN of the resource that the first parameter of the path names. For a resource that does not exist it is the ARN of
 * all resources of the type, so that only callers who may act on all of them learn that it does not exist.
 */
export type LocateResource = (ctx: PrincipalContext, id: string) => Promise<string>;

/** Returns the action of the catalogue that a route requires, or null if it requires something else. */
export function getAction(access: RouteAccess): Action | null {
  if (typeof access === 'object') return 'action' in access ? access.action : null;
  return isAction(access) ? access : null;
}

/** Status and body of a success. Made by `ok`, `created`, `accepted`, `noContent`, `prepared` and `raw`. */
export type SuccessAnswer =
  | { status: 200 | 201 | 202; body: ZodType }
  | { status: 200; json: ZodType; mediaTypes: readonly string[] }
  | { status: 204 }
  | RawAnswer;

/** Answer that the handler builds itself; `raw` is its description. */
interface RawAnswer {
  status: 200 | 201 | 204 | 302 | 400 | 403;
  raw: string;
  mediaTypes: readonly string[];
}

export const ok = <S extends ZodType>(body: S) => ({ status: 200, body }) as const;
export const created = <S extends ZodType>(body: S) => ({ status: 201, body }) as const;
export const accepted = <S extends ZodType>(body: S) => ({ status: 202, body }) as const;
export const noContent = { status: 204 } as const;
/** Declares JSON of this shape, which the handler may already have as bytes, or another media type that the caller requests. */
export const prepared = <S extends ZodType>(json: S, ...mediaTypes: string[]) =>
  ({ status: 200, json, mediaTypes }) as const;
/** Declares an answer that the handler builds: a page, a redirect. `description` describes it; a redirect has no media type. */
export const raw = <S extends RawAnswer['status']>(status: S, description: string, ...mediaTypes: string[]) =>
  ({ status, raw: description, mediaTypes }) as const;

/** Caller with a credential of their own. */
type CredentialHolder = Principal | OutsiderActor;

type PathParameter<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParameter<Rest>
  : never;

type ParsedValue<S> = S extends ZodType ? z.output<S> : undefined;

type ActorOf<A extends RouteAccess, P extends CredentialHolder, V extends ViewerActor> = A extends 'public'
  ? AnonymousActor
  : A extends 'optional' | 'pending'
    ? AnonymousActor | P
    : A extends 'operator'
      ? OperatorActor
      : A extends { token: TokenKind }
        ? V
        : P;

type CallersOf<C extends Contract, P extends CredentialHolder> = C extends { only: 'people' }
  ? Exclude<P, ServiceAccountActor>
  : P;

type HandlerResult<R extends SuccessAnswer> = R extends { body: infer S extends ZodType }
  ? z.input<S>
  : R extends { json: infer S extends ZodType }
    ? z.input<S> | Response | PreparedResponse
    : R extends { raw: string }
      ? Response | PreparedResponse
      : // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer may return nothing at all.
        void;

/** Declaration of how the answer of a GET gets its version, the `ETag`. */
export interface VersionDeclaration {
  /** Fields that do not count for the version: times of last use, and counters. */
  ignoredFields: readonly string[];
  /** Fields shown only if the query requests them: they count for `If-None-Match`, not for a write's version. */
  optionalFields?: readonly string[];
  /** Reads the version from the response itself instead of computing a digest; undefined if the response contains none. */
  readVersion?: (response: object) => string | undefined;
  /** Part that checks the version in a write: the database, or the service (see `Context.requireVersion`). */
  checkedBy: 'database' | 'service';
}

/** Declares a version made of all fields of a response except these; the database checks `If-Match`. */
export const declareVersion = (...uncountedFields: string[]): VersionDeclaration => ({
  ignoredFields: uncountedFields,
  checkedBy: 'database',
});

/** Headers of a protocol that is defined elsewhere, such as resumable uploads. */
export interface HeaderProtocol {
  /** Headers of all answers, refusals included, with their values. */
  answerHeaders: Readonly<Record<string, string>>;
  /** Additional headers of the answer to OPTIONS on the path, with their values. */
  optionsHeaders: Readonly<Record<string, string>>;
  /** Headers that are read from a request, with descriptions. An idempotency key covers their values, too. */
  requestHeaders: Readonly<Record<string, string>>;
  /** Names of all request headers of the protocol: a preflight of each of its paths allows them, also those that are refused. */
  allowedHeaders: readonly string[];
  /** Headers that a success may have, with descriptions. */
  successHeaders: Readonly<Record<string, string>>;
}

/** Contract of a route: routing, validation, authorization and /openapi.json are derived from it. */
export interface Contract {
  method: Method;
  /** The path in OpenAPI's form: `/accounts/{id}`. */
  path: string;
  access: RouteAccess;
  /** Action under which the audit trail records a sign-in, which needs no permission: `auth:login`. */
  recordedAs?: string;
  /**
   * Further restriction of the callers, in addition to `access`. `administrators`: only administrators and the owner, for routes
   * whose changes could give access to everything. `people`: no service accounts, for routes about a user's own session, password
   * or second factor. `owner`: the company's owner alone.
   */
  only?: 'administrators' | 'people' | 'owner';
  /**
   * True or false if it does not follow from `access` whether access tokens of OAuth clients are accepted. Clients are
   * authorized for actions, so by default they are rejected by routes that require none, and accepted by routes with
   * `decidedBy`, which require some.
   */
  forPrograms?: boolean;
  /** Action whose Deny keeps principals off the route. Principals need no Allow of the action. */
  unlessDenied?: Action;
  /** Parameter of the query that only administrators and the owner may send as `true`. */
  administratorsWith?: string;
  /**
   * Resource type that the path's `{id}` names, if it is not the first of the action's service: another type of that service, or
   * `none` when the id is of another service, so that the action is checked on all resources of the type.
   */
  resource?: ResourceType | 'none';
  /** Path parameter with the id of the resource on which the action is checked, if it is not `id`. */
  resourceIdParameter?: string;
  /** Kind of credential that callers send, if it differs from the surface's. */
  credential?: Credential;
  /** Name of the method in generated clients, such as `replaceGroupPermissions`. Unique and permanent. */
  operationId: string;
  /** Name of the route for people, `Replace a group's permissions`: begins with the same verb, and has no full stop. */
  summary: string;
  /** Details beyond the summary: what is returned or refused, side effects, limits. Unique among the routes. */
  description: string;
  query?: ZodType;
  /** True if the query may have undeclared parameters: in addresses of pages, and addresses that others make. */
  openQuery?: true;
  /** Schema of the JSON body. */
  body?: ZodType;
  /** Refuses requests of some origins, before their sender is known and their body is read. @throws the failure */
  checkOrigin?: (config: Config, origin: string | undefined) => void;
  /** Wraps reading the JSON body, for routes where an invalid body counts as an attempt, or has a failure of its own. */
  wrapBodyRead?: (ctx: Context, readBody: () => Promise<unknown>) => Promise<void>;
  /**
   * Fields of a multipart body, for the description only: the handler reads the stream itself. With a `body` too, the caller
   * chooses by the content type; the handler of a form receives no body.
   */
  form?: ZodType;
  /** Media types of a body that the handler reads by itself, for the description only. */
  raw?: Readonly<Record<string, ZodType>>;
  /**
   * True if numbers of the body that a double cannot hold arrive as `ExactNumber`, with all their digits; `text` if they arrive
   * as texts of their digits, for a body whose values are stored.
   */
  exactNumbers?: true | 'text';
  /** For a body that may be large: the list whose objects the handler itself reads, one after another. */
  unread?: UnreadList;
  /**
   * For a write that changes permissions: with `dry_run=true` the route answers who would gain and who would lose what,
   * and changes nothing. Every change of access that the write makes names an id of the path, or one of the affected
   * principals that the write announces.
   */
  dryRun?: true;
  /** For a POST that changes nothing, so that it may be repeated: it ignores an idempotency key. */
  safe?: true;
  /**
   * Check whether the caller may do what the path says, for routes where data other than the caller's access decides, too, or
   * several actions. It is made before the query or body is refused, so that nobody learns what is wrong with a request that
   * they may not make (a missing resource does not count then), and before a stored response is repeated under an idempotency
   * key. If no GET of the surface shows the resource of the path, the check also ensures that the resource exists.
   * @throws as the service does
   */
  checkPath?: (ctx: PrincipalContext, params: Record<string, string>) => unknown;
  /** If `access` is `pending`: the member of the body with the token of somebody in the middle of signing in. */
  pendingTokenField?: string;
  /** For a write: members that the record's GET shows and the write changes, although its body has no member of that name. */
  alsoChanges?: readonly string[];
  /**
   * For a write with a body: ways to change members that the record's GET shows but that no body member of the same name changes
   * on this surface. The value names another member of the body, or a route of another surface.
   */
  changers?: Readonly<Record<string, string>>;
  /** For a POST whose body is built from a member that the GET of the path's record shows: the name of that member. */
  bodySourceField?: string;
  /** For the audit trail: the body's field with the ids that are attached to the path's resource, or to the created one. */
  attachedIdField?: string;
  /** Path, without the id, at which the resource created by a 201 can be read, if it is not beneath the route's own path. */
  createdUnder?: string;
  /** For a GET: its answer has a version, and the writes of the same path can be made for that version. */
  versionDeclaration?: VersionDeclaration;
  /** Removes parts of an answer that the query does not request. The version is that of the whole answer. */
  narrowAnswer?: (answer: object, query: unknown) => object;
  /** For a GET with versions whose caller can wait for another version: reads the records' versions. Made by `declareWaiting`. */
  readRecordVersions?: ReadRecordVersions;
  /** For a write: the path of the GET whose version it is made for, if that differs from its own. */
  versionPath?: string;
  /** For a write that answers a record in a form of its own: the path of the GET that shows the record. */
  shownPath?: string;
  /** Largest JSON body in bytes; 1 MiB by default. */
  bodyLimit?: number;
  returns: SuccessAnswer;
  /** Headers of the protocol that the route follows, if it is a protocol that is defined elsewhere. */
  protocol?: HeaderProtocol;
  /** Requests that are answered with 202 and no body instead of `returns`, in words. */
  acknowledgedRequests?: string;
  /** Failures that the route can answer, in addition to those that its declarations imply (`listImpliedFailures`). */
  fails?: readonly FailureType[];
  /** Failures in a different shape than the surface's, and redirects of a page, by status. */
  otherAnswers?: Readonly<Record<number, ZodType | RawAnswer>>;
  /** True if pages of any origin may call the route and read the response, which reveals nothing that they do not know. */
  anyOrigin?: true;
}

/** Returns true if a route accepts access tokens of OAuth clients. */
export const acceptsOAuthClients = ({ access, forPrograms }: Contract): boolean =>
  forPrograms ?? (getAction(access) !== null || (typeof access === 'object' && 'decidedBy' in access));

/** Returns true if a route refuses JSON with members. Pages, foreign protocols and a sign-out ignore a body. */
export const takesNoBody = ({ method, access, body, form, raw, openQuery, protocol }: Contract): boolean =>
  method !== 'get' && access !== 'optional' && !body && !form && !raw && !openQuery && !protocol;

const DEFAULT_BODY_LIMIT = 1024 * 1024;

export const getBodyLimit = ({ bodyLimit }: Contract): number => bodyLimit ?? DEFAULT_BODY_LIMIT;

/** Arguments of a handler: validated input and the context of the caller. */
export interface HandlerCall<C extends Contract, P extends CredentialHolder, V extends ViewerActor> {
  ctx: Context<ActorOf<C['access'], CallersOf<C, P>, V>>;
  params: Record<PathParameter<C['path']>, string>;
  query: ParsedValue<C['query']>;
  body: C extends { body: ZodType; form: ZodType } ? ParsedValue<C['body']> | undefined : ParsedValue<C['body']>;
  /** Request with its headers and, for multipart bodies, its stream. */
  request: Request;
  perform: Perform;
}

/** Input of a route that another route performs: the path's parameters, the query, the body as parsed JSON. */
export interface RouteInput {
  params: Record<string, string>;
  query: Record<string, unknown>;
  body: unknown;
}

/** Route with the surface whose wording it uses. */
export interface Route {
  surface: Surface;
  endpoint: Endpoint;
}

/**
 * Performs another route for the same caller within this request: it is authorized, validated and recorded as that route, and its
 * failures are thrown. Credential and rate limits are those of the request. @param makeInput makes the route's input; a failure that it
 * throws is also recorded as a failure of that route
 */
export type Perform = (route: Route, makeInput: () => RouteInput) => Promise<unknown>;

/** Contract with its handler, as `mountEndpoints` takes it. */
export interface Endpoint {
  contract: Contract;
  // biome-ignore lint/suspicious/noExplicitAny: the contract's types are checked where the endpoint is declared.
  handle: (call: any) => Promise<unknown>;
}

/** What a contract's `attachedIdField` may name: a field of the parsed body. */
type AttachedField<C extends Contract> = C extends { body: infer B extends ZodType }
  ? { attachedIdField?: keyof z.output<B> }
  : unknown;

/** Creates the `endpoint` function of a surface, for callers of type `P` and token holders of type `V`. */
export function createEndpointFunction<P extends CredentialHolder, V extends ViewerActor = ViewerActor>() {
  return <const C extends Contract>(
    contract: C & AttachedField<C>,
    handle: (call: HandlerCall<C, P, V>) => Promise<HandlerResult<C['returns']>> | HandlerResult<C['returns']>,
  ): Endpoint => ({ contract, handle: async (call) => handle(call) });
}
