import type { Context, PrincipalContext } from '../context.ts';
import { Failure, MAX_PROBLEMS } from '../kernel/failure.ts';
import { unknownMembers } from '../kernel/members.ts';
import { collectIds, listResourceParameters } from './audit.ts';
import type { Route, RouteInput } from './endpoint.ts';
import { REPORT_INPUT_VALUES } from './field-words.ts';
import { invalidBody } from './json-body.ts';
import { getQuerySchema, requireValid } from './query.ts';
import { authorize, authorizeQuery, type RequestFacts } from './request-checks.ts';
import { findWording } from './surface.ts';
import { unknownProblem } from './unknown-members.ts';

/** The context and facts of the request that another route is performed in. */
interface PerformingRequest {
  context: Context;
  facts: RequestFacts;
}

/** See `Perform` in `endpoint.ts`. */
export async function performRoute(
  within: PerformingRequest,
  request: Request,
  route: Route,
  ask: () => RouteInput,
): Promise<unknown> {
  const { surface, endpoint } = route;
  const { contract } = endpoint;
  const { facts } = within;
  facts.performed = { contract, status: contract.returns.status };
  try {
    const asked = ask();
    facts.resourceIds = listResourceParameters(contract.path).flatMap((name) => collectIds(asked.params[name]));
    return await performSteps(within, request, route, asked);
  } catch (error) {
    facts.performed.status = error instanceof Failure ? findWording(surface, error).status : 500;
    throw error;
  }
}

/** The steps of `mount`, without those that the request has behind it. */
async function performSteps(
  { context, facts }: PerformingRequest,
  request: Request,
  { endpoint: { contract, handle } }: Route,
  { params, query, body }: RouteInput,
): Promise<unknown> {
  const { actor } = context as PrincipalContext;
  await authorize(contract, context as PrincipalContext, (name) => params[name]);
  authorizeQuery(contract, actor, (name) => query[name]);
  const parsedQuery = getQuerySchema(contract).safeParse(query, REPORT_INPUT_VALUES);
  requireValid(parsedQuery);
  const unknown = contract.body
    ? unknownMembers(contract.body, body).take(MAX_PROBLEMS).map(unknownProblem).toArray()
    : [];
  const parsedBody = await contract.body?.safeParseAsync(body, REPORT_INPUT_VALUES);
  if (parsedBody?.error || unknown.length > 0) throw invalidBody(parsedBody?.error, unknown);
  return handle({
    ctx: context,
    params,
    query: contract.query && parsedQuery.data,
    body: parsedBody?.data,
    request,
    perform: (route: Route, ask: () => RouteInput) => performRoute({ context, facts }, request, route, ask),
  });
}
