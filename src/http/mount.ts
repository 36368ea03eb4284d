import { zValidator } from '@hono/zod-validator';
import type { Hono, Context as HonoContext, MiddlewareHandler } from 'hono';
import { type ZodType, z } from 'zod';
import type { AnonymousActor } from '../access/actors.ts';
import { type Bindings, readConfig } from '../config.ts';
import { type Caller, type CompanyContext, type Origin, openContext, type PrincipalContext } from '../context.ts';
import { PreparedResponse } from '../kernel/files.ts';
import { cut } from '../kernel/text.ts';
import { acceptedLocale, DEFAULT_LOCALE } from '../texts/locales.ts';
import { collectIds, listResourceParameters } from './audit.ts';
import { limitBody } from './body-limit.ts';
import { dryRun, isDryRun } from './dry-run.ts';
import {
  type Contract,
  type Endpoint,
  getBodyLimit,
  type Route,
  type RouteInput,
  takesNoBody,
  type Versioned,
} from './endpoint.ts';
import { takesIdempotencyKey } from './failures.ts';
import { REPORT_INPUT_VALUES } from './field-words.ts';
import { type RequestKey, readKeyedRequest, runOnce } from './idempotency.ts';
import { type CompareRecord, isForm, readJson, saysJson } from './json-body.ts';
import { compareSpecificity, listParameters, toHonoPath } from './paths.ts';
import { performRoute } from './perform.ts';
import { getDeclaredQuery, getQuerySchema, refuseBrokenText, refuseNameless, requireValid } from './query.ts';
import {
  type Authentication,
  checkRequest,
  isTokenAccess,
  type RequestFacts,
  recheckRequest,
} from './request-checks.ts';
import { getMediaType, type Surface } from './surface.ts';
import { findNamedRecord, findUnknownProblems, removeUnchangedMembers } from './unknown-members.ts';
import { type Call, computeVersion, findVersionedGet, isKnownVersion, runForVersion } from './versions.ts';
import { getSeconds, type ReadStamps, respondWhenChanged } from './waiting.ts';
import { findReaders, makeWrittenAnswer } from './written-records.ts';

/** The bindings and variables that the Worker's Hono apps share between middlewares. */
export interface HttpEnv {
  Bindings: Bindings;
  Variables: {
    correlationId: string;
    facts: RequestFacts;
    context: ReturnType<typeof openContext<AnonymousActor>>['context'];
    key: RequestKey;
    /** Closes the connections that the context has open by now. */
    release: () => Promise<void>;
    /** The JSON body, validated; undefined where none was sent. */
    body: unknown;
  };
}

/** Registers a surface's endpoints. Literal segments go before parameters, whatever their order in the list. */
export function mount(
  app: Hono<HttpEnv>,
  surface: Surface,
  endpoints: Endpoint[],
  authentication: Authentication,
): void {
  for (const endpoint of endpoints.toSorted((a, b) => compareSpecificity(a.contract.path, b.contract.path))) {
    const { contract } = endpoint;
    const isRead = isReadUnderPath(contract, endpoints);
    const reading = findVersionedGet(contract, endpoints);
    const readers = findReaders(contract, endpoints);
    app.on(
      contract.method.toUpperCase(),
      [toHonoPath(contract.path)],
      ...listMiddlewares(contract, surface, authentication, endpoints),
      (c) => handleRequest(c, endpoint, { surface, authentication, isRead, reading, readers }),
    );
  }
}

/** Whether the resource that a route makes is read at the route's own path, followed by the id. */
function isReadUnderPath({ path }: Contract, endpoints: Endpoint[]): boolean {
  return endpoints.some(
    ({ contract }) =>
      contract.method === 'get' && contract.path.replace(/\/\{\w+\}$/, '') === path && contract.path !== path,
  );
}

function listMiddlewares(
  contract: Contract,
  surface: Surface,
  authentication: Authentication,
  endpoints: Endpoint[],
): MiddlewareHandler<HttpEnv>[] {
  const bounded = limitBody(getBodyLimit(contract));
  const accessCheck = checkAccess(contract, surface, authentication);
  const hasNoBody = takesNoBody(contract);
  const read = hasNoBody ? { ...contract, body: NO_MEMBERS } : contract;
  const ofJson = contract.form ? skipForms : hasNoBody ? skipUnlessJson : (middleware: MiddlewareHandler) => middleware;
  // A signature covers the body, so it must be read, bounded, before anybody is known; a token does not need it.
  const checks = takesIdempotencyKey(contract) ? [accessCheck, runOnce] : [accessCheck];
  const credentialAndBody =
    surface.credential === 'signature' ? [bounded, ...checks] : read.body ? [...checks, ofJson(bounded)] : checks;
  const chain: MiddlewareHandler<HttpEnv>[] = [recordRoute(contract), ...credentialAndBody];
  // What others append to an address is theirs, however they write it.
  if (!contract.openQuery) chain.push(refuseUnreadable);
  if (getDeclaredQuery(contract) || !contract.openQuery)
    chain.push(zValidator('query', getQuerySchema(contract), requireValid, BODY_PARSERS) as MiddlewareHandler);
  if (read.body) chain.push(ofJson(receiveBody(read, readJson(read, makeRecordComparison(read, endpoints)))));
  return chain;
}

/** The body of a route that has none, where JSON is sent all the same. */
const NO_MEMBERS = z.object({});

const BODY_PARSERS = {
  validationFunction: (schema: ZodType, query: unknown) => schema.safeParseAsync(query, REPORT_INPUT_VALUES),
};

function receiveBody({ wrapBodyRead }: Contract, read: MiddlewareHandler<HttpEnv>): MiddlewareHandler<HttpEnv> {
  if (!wrapBodyRead) return read;
  return async (c, next) => {
    await wrapBodyRead(c.get('context'), () => read(c, async () => {}));
    await next();
  };
}

/** Compares bodies of a route with the record of its path. */
function makeRecordComparison(contract: Contract, endpoints: Endpoint[]): CompareRecord {
  const record = findNamedRecord(contract, endpoints);
  return {
    unknownProblems: (c, body) => findUnknownProblems(body, contract, record, toCall(c)),
    withoutKept: (c, body, names) => removeUnchangedMembers(body, names, contract, record, toCall(c)),
  };
}

const refuseUnreadable: MiddlewareHandler<HttpEnv> = async (c, next) => {
  refuseNameless(c.req.url);
  refuseBrokenText(c.req.url);
  await next();
};

/** Records which route was taken, before anything can refuse the request. */
function recordRoute(contract: Contract): MiddlewareHandler<HttpEnv> {
  const parameters = listResourceParameters(contract.path);
  return async (c, next) => {
    const facts = c.get('facts');
    facts.contract = contract;
    facts.resourceIds = parameters.flatMap((parameter) => collectIds(c.req.param(parameter)));
    await next();
  };
}

/** Opens the context, lets the caller in or throws, and closes the context when the handler is done. */
function checkAccess(contract: Contract, surface: Surface, authentication: Authentication): MiddlewareHandler<HttpEnv> {
  const options = { nearest: isTokenAccess(contract.access) };
  return async (c, next) => {
    const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' }, options);
    try {
      const checked = await checkRequest({
        contract,
        surfaceCredential: surface.credential,
        authentication,
        ctx: context,
        request: c.req,
        facts: c.get('facts'),
        readKeyedRequest: () => readKeyedRequest(c, contract),
      });
      c.set('context', { ...context, actor: checked.actor } as typeof context);
      c.set('key', checked.key);
      c.set('release', close);
      await next();
    } finally {
      await close();
    }
  };
}

/** Data about an endpoint that its answers depend on. */
interface Mounted {
  surface: Surface;
  authentication: Authentication;
  isRead: boolean;
  reading: Endpoint | undefined;
  readers: readonly Contract[];
}

async function handleRequest(c: HonoContext<HttpEnv>, endpoint: Endpoint, mounted: Mounted): Promise<Response> {
  const { contract, handle } = endpoint;
  const { isRead, reading, readers } = mounted;
  const facts = c.get('facts');
  const named = facts.resourceIds;
  const attached = contract.attachedIdField ? collectIds(Object(c.get('body'))[contract.attachedIdField]) : [];
  facts.resourceIds = [...named, ...attached];
  const valid = c.req as unknown as { valid(target: 'query'): unknown };
  const query = contract.query ? valid.valid('query') : undefined;
  const call = { ...toCall(c), query, body: c.get('body') };
  if (isDryRun(c.req, contract)) {
    facts.isDryRun = true;
    const write = (ctx: PrincipalContext) =>
      reading
        ? runForVersion(c.req.header('if-match'), contract, reading, { ...call, ctx }, handle)
        : handle({ ...call, ctx });
    return c.json(await dryRun(call.ctx, call.params, write), 200);
  }
  const result = await (reading
    ? runForVersion(c.req.header('if-match'), contract, reading, call, handle)
    : isWaiting(c, contract, call)
      ? handleWhenChanged(c, endpoint, mounted, call)
      : handle(call));
  if (result instanceof Response) {
    // A tool has said by itself what it was about.
    if (result.status === 201 && named.length === 0)
      facts.resourceIds = collectIds(result.headers.get('location')?.split('/').at(-1));
    return result;
  }
  if (result instanceof PreparedResponse) return new Response(result.body, { headers: result.headers });
  if (contract.versioned) {
    const tag = await computeVersion(result as object, contract.versioned);
    c.header('ETag', tag);
    if (isKnownVersion(c.req.header('if-none-match'), tag)) return c.body(null, 304);
  }
  if (contract.returns.status === 204) return c.body(null, 204);
  const made = readCreatedIds(result);
  if (named.length === 0) facts.resourceIds = [...made, ...attached];
  const under = contract.createdUnder ?? (isRead ? c.req.path : undefined);
  if (contract.returns.status === 201 && under && made.length > 0) c.header('Location', `${under}/${made[0]}`);
  const { surface } = mounted;
  for (const [name, value] of Object.entries(surface.repeats?.(result as object) ?? {})) c.header(name, value);
  const shown = await makeWrittenAnswer(
    readers,
    call.ctx,
    contract.narrowAnswer?.(result as object, query) ?? (result as object),
  );
  return c.json(shown, contract.returns.status as 200, { 'Content-Type': getMediaType(surface) });
}

/** The arguments of a handler, except for the query and the body. */
const toCall = (c: HonoContext<HttpEnv>) => ({
  ctx: c.get('context') as unknown as PrincipalContext,
  params: c.req.param() as Record<string, string>,
  request: c.req.raw,
  perform: (route: Route, ask: () => RouteInput) => performRoute(c.var, c.req.raw, route, ask),
});

/** Whether the caller waits for another version than those that it knows: who knows them all has nothing to wait for. */
function isWaiting(c: HonoContext<HttpEnv>, { readStamps }: Contract, { query }: Call): boolean {
  const known = c.req.header('if-none-match');
  return readStamps !== undefined && getSeconds(query) !== undefined && known !== undefined && known.trim() !== '*';
}

function handleWhenChanged(
  c: HonoContext<HttpEnv>,
  { contract, handle }: Endpoint,
  { surface, authentication }: Mounted,
  call: Call,
): Promise<object> {
  const handleFor = async (ctx: Call['ctx']) => (await handle({ ...call, ctx })) as object;
  const parameters = listParameters(contract.path).map((name) => c.req.param(name) as string);
  // What the operator waits for is of the company that the path names.
  const [companyId = ''] = parameters;
  const ctx = contract.access === 'operator' ? { ...call.ctx, actor: { kind: 'system', companyId } } : call.ctx;
  return respondWhenChanged({
    stamps: contract.readStamps as ReadStamps,
    ctx: ctx as CompanyContext,
    id: parameters.at(-1) as string,
    seconds: getSeconds(call.query) as number,
    release: c.get('release'),
    isKnown: async (shown) =>
      isKnownVersion(c.req.header('if-none-match'), await computeVersion(shown, contract.versioned as Versioned)),
    show: () => handleFor(call.ctx),
    async showAnew() {
      const { context, close } = openContext(readOrigin(c), { kind: 'anonymous' });
      try {
        const returning = { contract, surfaceCredential: surface.credential, authentication, request: c.req };
        return await handleFor(await recheckRequest({ ...returning, ctx: context }));
      } finally {
        await close();
      }
    },
  });
}

/** The id of the record in an answer, under the name its surface gives it. */
function readCreatedIds(result: unknown): string[] {
  const { id, _id, job_id, export_id, organization } = Object(result);
  return collectIds(id ?? _id ?? job_id ?? export_id ?? organization?.id);
}

/** The origin of a request, for its context: bindings, correlation id, address and base URL. */
export function readOrigin(c: HonoContext<HttpEnv>): Origin {
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

/** The caller's country, which the edge tells beside the request; without an edge in front, the client's header counts. */
const readCountry = ({ req }: HonoContext<HttpEnv>): string | undefined =>
  (req.raw.cf as { country?: string } | undefined)?.country ?? req.header('cf-ipcountry');

const AGENT_LENGTH = 256;
const ORIGIN_LENGTH = 256;

function readCaller(c: HonoContext<HttpEnv>): Caller {
  const origin = cut(c.req.header('origin') ?? '', ORIGIN_LENGTH) || null;
  const { PUBLIC_URL } = readConfig(c.env);
  const own = [c.req.url, ...(PUBLIC_URL === undefined ? [] : [PUBLIC_URL])].map((url) => new URL(url).origin);
  return {
    country: /^[A-Z0-9]{2}$/.exec(readCountry(c) ?? '')?.[0] ?? null,
    userAgent: cut(c.req.header('user-agent') ?? '', AGENT_LENGTH) || null,
    origin,
    fromOwnPage: origin === null || own.includes(origin),
    locale: acceptedLocale(c.req.header('accept-language')) ?? DEFAULT_LOCALE,
  };
}

/** For routes that take JSON or a form: a form passes, and its handler reads it. */
const skipForms =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    isForm(c.req) ? next() : middleware(c, next);

/** For routes without a body: what is no JSON passes, and nobody reads it. */
const skipUnlessJson =
  (middleware: MiddlewareHandler): MiddlewareHandler =>
  (c, next) =>
    saysJson(c.req) ? middleware(c, next) : next();
