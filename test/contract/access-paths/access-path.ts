import type { Action } from '../../../src/permissions/actions.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import type { Company } from '../../support/companies.ts';
import type { TestPrincipal } from '../../support/principals.ts';

/** An action, or a wildcard pattern of actions. */
export type ActionPattern = Action | `${string}*`;

/** The actions that showing a visualization with its result needs. */
export const VIEWING_ACTIONS: Action[] = ['visualizations:get', 'visualizations:execute'];

/** The resource at the end of an access path: its ARN in policies, and the request that reaches it. */
export interface AccessTarget {
  arn: string;
  ask(as: Caller): Promise<ApiResponse>;
}

/**
 * An access path: a route by which a protected resource can be read or changed. The owner creates a new resource for each
 * check.
 */
export interface AccessPath {
  resourceTitle: string;
  description: string;
  /** The requested routes, such as `GET /v1/…`. */
  routes: string[];
  /** Further actions that the caller is allowed on all resources. */
  extraActions?: ActionPattern[];
  /** Actions that open the path when they are allowed on the resource alone. If empty, the path is open without any. */
  neededActions?: Action[];
  /** Actions each of which closes the path when it is denied on the resource, whatever else is allowed. */
  closingActions: Action[];
  /** True if a service account sends a signed request, instead of a user. */
  isSigned?: true;
  /** True if a service account sends its key and secret in a header, as SCIM clients do. */
  isFromDirectory?: true;
  /** True if a Deny on any other resource closes the path as well. */
  isClosedByAnyDeny?: true;
  createTarget(company: Company, caller: TestPrincipal): Promise<AccessTarget>;
  /** Returns true if an answer shows or changes the resource, where the success status alone does not say so. */
  isReachedBy?(answer: ApiResponse): boolean;
}

export const makeArn = (company: Pick<Company, 'id'>, arnPart: string, id: string): string => {
  const [service, type] = arnPart.split(':');
  return `arn:svc:${service}::${company.id}:${type}/${id}`;
};

const ARN_PARTS: Record<string, string> = {
  visualization: 'visualizations:visualization',
  dashboard: 'dashboards:dashboard',
  table: 'managed-tables:table',
  endpoint: 'viz_api_endpoints:endpoint',
  concept: 'concepts:concept',
  item: 'semantic:item',
  node: 'ontology:node',
  relation: 'ontology:relation',
  suggestion: 'knowledge_reviews:suggestion',
  user: 'users:user',
  group: 'groups:group',
  permission: 'permissions:permission',
  'service account': 'service-accounts:service-account',
  'service account on the console': 'users:user',
};

/** Makes the ARN of a resource from its kind in words. */
export const makeResourceArn = (company: Pick<Company, 'id'>, resourceName: string, id: string): string => {
  const arnPart = ARN_PARTS[resourceName];
  if (arnPart === undefined) throw new Error(`Nothing is called ${resourceName}.`);
  return makeArn(company, arnPart, id);
};

export const makePostRequest =
  (path: string, json: object = {}) =>
  (as: Caller): Promise<ApiResponse> =>
    as.post(path, { json });
export const makeGetRequest =
  (path: string) =>
  (as: Caller): Promise<ApiResponse> =>
    as.get(path);
export const makePutRequest =
  (path: string, json: object) =>
  (as: Caller): Promise<ApiResponse> =>
    as.put(path, { json });
export const makePatchRequest =
  (path: string, json: object) =>
  (as: Caller): Promise<ApiResponse> =>
    as.patch(path, { json });
export const makeDeleteRequest =
  (path: string) =>
  (as: Caller): Promise<ApiResponse> =>
    as.delete(path);
