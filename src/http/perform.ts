import type { Context, PrincipalContext } from '../context.ts';
import { Failure, MAX_PROBLEMS } from '../kernel/failure.ts';
import { findUnknownMembers } from '../kernel/members.ts';
import { collectIds, listResourceParameters } from './audit.ts';
import type { Route, RouteInput } from './endpoint.ts';
import { REPORT_INPUT_VALUES } from './field-words.ts';
import { makeInvalidBody } from './json-body.ts';
import { getQuerySchema, requireValid } from './query.ts';
import { authorize, authorizeQuery, checkPathBeforeRefusal, type RequestFacts } from './request-checks.ts';
import { findWording } from './surface.ts';
import { makeUnknownProblem } from './unknown-members.ts';

/** Context and facts of the request within which another route is performed. */
interface PerformingRequest {
  context: Context;
  facts: RequestFacts;
}

/** Performs another route: see `Perform` in `endpoint.ts`. */
export async function performRoute(
  performingRequest: PerformingRequest,
  request: Request,
  route: Route,
  makeInput: () => RouteInput,
): Promise<unknown> {
  const { surface, endpoint } = route;
  const { contract } = endpoint;
  const { facts } = performingRequest;
  facts.performedRoute = { contract, status: contract.returns.status };
  try {
    const routeInput = makeInput();
    facts.resourceIds = listResourceParameters(contract.path).flatMap((name) => collectIds(routeInput.params[name]));
    return await performSteps(performingRequest, request, route, routeInput);
  } catch (error) {
    facts.performedRoute.status = error instanceof Failure ? findWording(surface, error).status : 500;
    throw error;
  }
}

/** Runs the steps of `mountEndpoints`, without those that the request has already passed. */
async function performSteps(
  { context, facts }: PerformingRequest,
  request: Request,
  { endpoint: { contract, handle } }: Route,
  { params, query, body }: RouteInput,
): Promise<unknown> {
  const ctx = context as PrincipalContext;
  await authorize(contract, ctx, (name) => params[name]);
  authorizeQuery(contract, ctx.actor, (name) => query[name]);
  const readInput = async () => {
    const parsedQuery = getQuerySchema(contract).safeParse(query, REPORT_INPUT_VALUES);
    requireValid(parsedQuery);
    const unknownProblems = contract.body
      ? findUnknownMembers(contract.body, body).take(MAX_PROBLEMS).map(makeUnknownProblem).toArray()
      : [];
    const parsedBody = await contract.body?.safeParseAsync(body, REPORT_INPUT_VALUES);
    if (parsedBody?.error || unknownProblems.length > 0) throw makeInvalidBody(parsedBody?.error, unknownProblems);
    return { query: contract.query && parsedQuery.data, body: parsedBody?.data };
  };
  const parsedInput = await checkPathBeforeRefusal(contract, ctx, params, readInput);
  return handle({
    ctx: context,
    params,
    ...parsedInput,
    request,
    perform: (route: Route, makeInput: () => RouteInput) => performRoute({ context, facts }, request, route, makeInput),
  });
}
