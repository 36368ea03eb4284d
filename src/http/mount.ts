import { zValidator } from '@hono/zod-validator';
import type { Hono, Context as HonoContext, MiddlewareHandler } from 'hono';
import { type ZodType, z } from 'zod';
import type { AnonymousActor } from '../access/actors.ts';
import { type Bindings, readConfig } from '../config.ts';
import {
  type Caller,
  type CompanyContext,
  type ContextOrigin,
  openContext,
  type PrincipalContext,
} from '../context.ts';
import { forgetReads } from '../db/client.ts';
import { PreparedResponse } from '../kernel/files.ts';
import { truncateText } from '../kernel/text.ts';
import { chooseAcceptedLocale, DEFAULT_LOCALE } from '../texts/locales.ts';
import { collectIds, listResourceParameters } from './audit.ts';
import { limitBody, requireBoundedBody } from './body-limit.ts';
import { isDryRun, performDryRun } from './dry-run.ts';
import {
  type Contract,
  type Endpoint,
  getBodyLimit,
  type Route,
  type RouteInput,
  takesNoBody,
  type VersionDeclaration,
} from './endpoint.ts';
import { takesIdempotencyKey } from './failures.ts';
import { REPORT_INPUT_VALUES } from './field-words.ts';
import { type RequestKey, readKeyedRequest, runWithIdempotencyKey } from './idempotency.ts';
import { isForm, isJson, type RecordComparison, readJson } from './json-body.ts';
import { compareSpecificity, listParameters, toHonoPath } from './paths.ts';
import { performRoute } from './perform.ts';
import { getDeclaredQuery, getQuerySchema, refuseBrokenText, refuseNamelessParameters, requireValid } from './query.ts';
import {
  type AuthenticationMethods,
  checkPathBeforeRefusal,
  checkRequest,
  countAddress,
  isTokenAccess,
  type RequestFacts,
  recheckRequest,
} from './request-checks.ts';
import { getMediaType, type Surface } from './surface.ts';
import { findPathRecord, findUnknownProblems, removeUnchangedMembers } from './unknown-members.ts';
import { computeVersion, findVersionedGet, type HandlerCall, isKnownVersion, runForVersion } from './versions.ts';
import { getWaitSeconds, type ReadRecordVersions, respondWhenChanged } from './waiting.ts';
import { findReadingContracts, makeWrittenAnswer } from './written-records.ts';

/** Bindings and variables that the Worker's Hono apps share between middlewares. */
export interface HttpEnv {
  Bindings: Bindings;
  Variables: {
    correlationId: string;
    facts: RequestFacts;
    context: ReturnType<typeof openContext<AnonymousActor>>['context'];
    key: RequestKey;
    /** Closes the connections that the context has opened so far. */
    release: () => Promise<void>;
    /** Validated JSON body; undefined if none was sent. */
    body: unknown;
  };
}

/** Registers a surface's endpoints. Literal segments come before parameters, whatever their order in the list. */
export function mountEndpoints(
  app: Hono<HttpEnv>,
  surface: Surface,
  endpoints: Endpoint[],
  authentication: AuthenticationMethods,
): void {
  for (const endpoint of endpoints.toSorted((a, b) => compareSpecificity(a.contract.path, b.contract.path))) {
    const { contract } = endpoint;
    const isReadable = isReadUnderPath(contract, endpoints);
    const versionedGet = findVersionedGet(contract, endpoints);
    const readingContracts = findReadingContracts(contract, endpoints);
    app.on(
      contract.method.toUpperCase(),
      [toHonoPath(contract.path)],
      ...listMiddlewares(contract, surface, authentication, endpoints),
      (c) => handleRequest(c, endpoint, { surface, authentication, isReadable, versionedGet, readingContracts }),
    );
  }
}

/** Returns true if the resource that a route creates is read at the route's own path, followed by the id. */
function isReadUnderPath({ path }: Contract, endpoints: Endpoint[]): boolean {
  return endpoints.some(
    ({ contract }) =>
      contract.method === 'get' && contract.path.replace(/\/\{\w+\}$/, '') === path && contract.path !== path,
  );
}

function listMiddlewares(
  contract: Contract,
  surface: Surface,
  authentication: AuthenticationMethods,
  endpoints: Endpoint[],
): MiddlewareHandler<HttpEnv>[] {
  const limitMiddleware = limitBody(getBodyLimit(contract));
  const accessCheck = checkAccess(contract, surface, authentication);
  const hasNoBody = takesNoBody(contract);
  const bodyContract = hasNoBody ? { ...contract, body: EMPTY_BODY_SCHEMA } : contract;
  const wrapForJson = contract.form
    ? skipForms
    : hasNoBody
      ? skipUnlessJson
      : (middleware: MiddlewareHandler) => middleware;
  // A signature covers the body, so it must be read, bounded, before anybody is known; a token does not need it.
  const checks = takesIdempotencyKey(contract) ? [accessCheck, runWithIdempotencyKey] : [accessCheck];
  const checksAndBodyLimits =
    surface.credential === 'signature'
      ? [limitSignedBody(getBodyLimit(contract)), ...checks]
      : bodyContract.body
        ? [...checks, wrapForJson(limitMiddleware)]
        : checks;
  const readers: MiddlewareHandler<HttpEnv>[] = [];
  // What others append to an address is theirs, however they write it.
  if (!contract.openQuery) readers.push(refuseUnreadable);
  if (getDeclaredQuery(contract) || !contract.openQuery)
    readers.push(zValidator('query', getQuerySchema(contract), requireValid, BODY_PARSERS) as MiddlewareHandler);
  if (bodyContract.body)
    readers.push(
      wrapForJson(receiveBody(bodyContract, readJson(bodyContract, makeRecordComparison(bodyContract, endpoints)))),
    );
  const checkedReaders = contract.checkPath ? readers.map((reader) => wrapInPathCheck(contract, reader)) : readers;
  const originChecks = contract.checkOrigin ? [checkOrigin(contract.checkOrigin)] : [];
  return [recordRoute(contract), ...originChecks, ...checksAndBodyLimits, ...checkedReaders];
}

/** Wraps a middleware that reads and may refuse a part of the request. */
const wrapInPathCheck =
  (contract: Contract, reader: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const { ctx, params } = toHandlerCall(c);
    await checkPathBeforeRefusal(contract, ctx, params, () => Promise.resolve(reader(c, async () => {})));
    await next();
  };

/** Checks a request before its sender is known; a refused one counts against the sender's address. */
const checkEarly =
  (check: (c: HonoContext<HttpEnv>) => Promise<void>): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    await check(c).catch(async (error) => {
      await countAddress(openContext(readOrigin(c), { kind: 'anonymous' }).context, c.get('facts'));
      throw error;
    });
    await next();
  };

const limitSignedBody = (limit: number) => checkEarly((c) => requireBoundedBody(c.req, limit));

const checkOrigin = (check: NonNullable<Contract['checkOrigin']>) =>
  checkEarly(async (c) => check(readConfig(c.env), c.req.header('origin')));

/** Schema of the body of a route that has none, for the case that JSON is sent. */
const EMPTY_BODY_SCHEMA = z.object({});

const BODY_PARSERS = {
  validationFunction: (schema: ZodType, query: unknown) => schema.safeParseAsync(query, REPORT_INPUT_VALUES),
};

function receiveBody({ wrapBodyRead }: Contract, readBody: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> {
  if (!wrapBodyRead) return readBody;
  return async (c, next) => {
    await wrapBodyRead(c.get('context'), () => readBody(c, async () => {}));
    await next();
  };
}

/** Makes the comparison of a route's bodies with the record of its path. */
function makeRecordComparison(contract: Contract, endpoints: Endpoint[]): RecordComparison {
  const record = findPathRecord(contract, endpoints);
  return {
    findUnknownProblems: (c, body) => findUnknownProblems(body, contract, record, toHandlerCall(c)),
    removeUnchanged: (c, body, names) => removeUnchangedMembers(body, names, contract, record, toHandlerCall(c)),
  };
}

const refuseUnreadable: MiddlewareHandler<HttpEnv> = async (c, next) => {
  refuseNamelessParameters(c.req.url);
  refuseBrokenText(c.req.url);
  await next();
};

/** Records the route of a request, before anything can refuse the request. */
function recordRoute(contract: Contract): MiddlewareHandler<HttpEnv> {
  const parameters = listResourceParameters(contract.path);
  return async (c, next) => {
    const facts = c.get('facts');
    facts.contract = contract;
    facts.resourceIds = parameters.flatMap((parameter) => collectIds(c.req.param(parameter)));
    await next();
  };
}

/** Opens the context, authorizes the caller or throws, and closes the context when the handler is done. */
function checkAccess(
  contract: Contract,
  surface: Surface,
  authentication: AuthenticationMethods,
): MiddlewareHandler<HttpEnv> {
  const options = { nearest: isTokenAccess(contract.access) };
  return async (c, next) => {
    const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' }, options);
    try {
      const checkedRequest = await checkRequest({
        contract,
        surfaceCredential: surface.credential,
        authentication,
        ctx: context,
        request: c.req,
        facts: c.get('facts'),
        readKeyedRequest: () => readKeyedRequest(c, contract),
      });
      c.set('context', { ...context, actor: checkedRequest.actor } as typeof context);
      c.set('key', checkedRequest.idempotencyKey);
      c.set('release', close);
      await next();
    } finally {
      await close();
    }
  };
}

/** Facts about an endpoint that its answers depend on. */
interface MountedFacts {
  surface: Surface;
  authentication: AuthenticationMethods;
  isReadable: boolean;
  versionedGet: Endpoint | undefined;
  readingContracts: readonly Contract[];
}

async function handleRequest(
  c: HonoContext<HttpEnv>,
  endpoint: Endpoint,
  mountedFacts: MountedFacts,
): Promise<Response> {
  const { contract, handle } = endpoint;
  const { isReadable, versionedGet, readingContracts } = mountedFacts;
  const facts = c.get('facts');
  const pathIds = facts.resourceIds;
  const attachedIds = contract.attachedIdField ? collectIds(Object(c.get('body'))[contract.attachedIdField]) : [];
  facts.resourceIds = [...pathIds, ...attachedIds];
  const validatedRequest = c.req as unknown as { valid(target: 'query'): unknown };
  const query = contract.query ? validatedRequest.valid('query') : undefined;
  const call = { ...toHandlerCall(c), query, body: c.get('body') };
  if (isDryRun(c.req, contract)) {
    facts.isDryRun = true;
    const runWrite = (ctx: PrincipalContext) =>
      versionedGet
        ? runForVersion(c.req.header('if-match'), contract, versionedGet, { ...call, ctx }, handle)
        : handle({ ...call, ctx });
    return c.json(await performDryRun(call.ctx, call.params, runWrite), 200);
  }
  const result = await (versionedGet
    ? runForVersion(c.req.header('if-match'), contract, versionedGet, call, handle)
    : isWaiting(c, contract, call)
      ? handleWhenChanged(c, endpoint, mountedFacts, call)
      : handle(call));
  if (result instanceof Response) {
    // A tool has said by itself what it was about.
    if (result.status === 201 && pathIds.length === 0)
      facts.resourceIds = collectIds(result.headers.get('location')?.split('/').at(-1));
    return result;
  }
  if (result instanceof PreparedResponse) return new Response(result.body, { headers: result.headers });
  if (contract.versionDeclaration) {
    const versionTag = await computeVersion(result as object, contract.versionDeclaration);
    c.header('ETag', versionTag);
    if (isKnownVersion(c.req.header('if-none-match'), versionTag)) return c.body(null, 304);
  }
  if (contract.returns.status === 204) return c.body(null, 204);
  const createdIds = readCreatedIds(result);
  if (pathIds.length === 0) facts.resourceIds = [...createdIds, ...attachedIds];
  const parentPath = contract.createdUnder ?? (isReadable ? c.req.path : undefined);
  if (contract.returns.status === 201 && parentPath && createdIds.length > 0)
    c.header('Location', `${parentPath}/${createdIds[0]}`);
  const { surface } = mountedFacts;
  for (const [name, value] of Object.entries(surface.repeats?.(result as object) ?? {})) c.header(name, value);
  const writtenAnswer = await makeWrittenAnswer(
    readingContracts,
    call.ctx,
    contract.narrowAnswer?.(result as object, query) ?? (result as object),
  );
  return c.json(writtenAnswer, contract.returns.status as 200, { 'Content-Type': getMediaType(surface) });
}

/** Makes the arguments of a handler, except for the query and the body. */
const toHandlerCall = (c: HonoContext<HttpEnv>) => ({
  ctx: c.get('context') as unknown as PrincipalContext,
  params: c.req.param() as Record<string, string>,
  request: c.req.raw,
  perform: (route: Route, makeInput: () => RouteInput) => performRoute(c.var, c.req.raw, route, makeInput),
});

/** Returns true if the caller waits for another version; `*` stands for all, so that none is waited for. */
function isWaiting(c: HonoContext<HttpEnv>, { readRecordVersions }: Contract, { query }: HandlerCall): boolean {
  const knownTags = c.req.header('if-none-match');
  return (
    readRecordVersions !== undefined &&
    getWaitSeconds(query) !== undefined &&
    knownTags !== undefined &&
    knownTags.trim() !== '*'
  );
}

function handleWhenChanged(
  c: HonoContext<HttpEnv>,
  { contract, handle }: Endpoint,
  { surface, authentication }: MountedFacts,
  call: HandlerCall,
): Promise<object> {
  const handleInContext = async (ctx: HandlerCall['ctx']) => (await handle({ ...call, ctx })) as object;
  const parameters = listParameters(contract.path).map((name) => c.req.param(name) as string);
  // What the operator waits for is of the company that the path names.
  const [companyId = ''] = parameters;
  const ctx = contract.access === 'operator' ? { ...call.ctx, actor: { kind: 'system', companyId } } : call.ctx;
  return respondWhenChanged({
    readVersions: contract.readRecordVersions as ReadRecordVersions,
    ctx: ctx as CompanyContext,
    id: parameters.at(-1) as string,
    waitSeconds: getWaitSeconds(call.query) as number,
    releaseConnections: c.get('release'),
    isKnownVersion: async (shownRecord) =>
      isKnownVersion(
        c.req.header('if-none-match'),
        await computeVersion(shownRecord, contract.versionDeclaration as VersionDeclaration),
      ),
    respond() {
      // What the authorization has read may be older than the version that the wait begins with.
      forgetReads(call.ctx.db);
      return handleInContext(call.ctx);
    },
    async respondAfterRecheck() {
      const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' });
      try {
        const requestToRecheck = { contract, surfaceCredential: surface.credential, authentication, request: c.req };
        return await handleInContext(await recheckRequest({ ...requestToRecheck, ctx: context }));
      } finally {
        await close();
      }
    },
  });
}

/** Reads the id of the record in an answer, under the name its surface gives it. */
function readCreatedIds(result: unknown): string[] {
  const { id, _id, job_id, export_id, organization } = Object(result);
  return collectIds(id ?? _id ?? job_id ?? export_id ?? organization?.id);
}

/** Reads the origin of a request, for its context: bindings, correlation id, address and base URL. */
export function readOrigin(c: HonoContext<HttpEnv>): ContextOrigin {
  return {
    env: c.env,
    waitUntil: (work) => c.executionCtx.waitUntil(work),
    correlationId: c.get('correlationId'),
    // What stands before the path.
    baseUrl: c.req.url.slice(0, c.req.url.indexOf('/', 'https://'.length)),
    ip: c.req.header('cf-connecting-ip') ?? null,
    meter: c.get('facts').meter,
    caller: () => readCaller(c),
    noteOwner: (owner) => {
      c.get('facts').owner = owner;
    },
    noteAccessChange({ principals }) {
      const facts = c.get('facts');
      const { actor } = facts;
      if (principals === 'everybody' || (actor && 'id' in actor && principals.includes(actor.id)))
        facts.changedOwnAccess = true;
    },
    noteAction: (action, ids) => {
      c.get('facts').recordedAs = { action, ids: collectIds(ids) };
    },
  };
}

/** Reads the caller's country, which the edge adds to the request; without an edge, the client's header counts. */
const readCountry = ({ req }: HonoContext<HttpEnv>): string | undefined =>
  (req.raw.cf as { country?: string } | undefined)?.country ?? req.header('cf-ipcountry');

const MAX_AGENT_LENGTH = 256;
const MAX_ORIGIN_LENGTH = 256;

function readCaller(c: HonoContext<HttpEnv>): Caller {
  const origin = truncateText(c.req.header('origin') ?? '', MAX_ORIGIN_LENGTH) || null;
  const { PUBLIC_URL } = readConfig(c.env);
  const ownOrigins = [c.req.url, ...(PUBLIC_URL === undefined ? [] : [PUBLIC_URL])].map((url) => new URL(url).origin);
  return {
    country: /^[A-Z0-9]{2}$/.exec(readCountry(c) ?? '')?.[0] ?? null,
    userAgent: truncateText(c.req.header('user-agent') ?? '', MAX_AGENT_LENGTH) || null,
    origin,
    isFromOwnPage: origin === null || ownOrigins.includes(origin),
    locale: chooseAcceptedLocale(c.req.header('accept-language')) ?? DEFAULT_LOCALE,
  };
}

/** Wraps a middleware of routes that take JSON or a form: a form is passed on, and its handler reads it. */
const skipForms =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    isForm(c.req) ? next() : middleware(c, next);

/** Wraps a middleware of routes without a body: bodies other than JSON are passed on unread. */
const skipUnlessJson =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    isJson(c.req) ? middleware(c, next) : next();
