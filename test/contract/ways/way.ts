import type { Action } from '../../../src/permissions/actions.ts';
import type { ApiResponse, Caller } from '../../support/api.ts';
import type { Principal } from '../../support/principals.ts';
import type { Company } from '../../support/worlds.ts';

/** An action, or a wildcard pattern of actions. */
export type ActionPattern = Action | `${string}*`;

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
  thing: string;
  way: string;
  /** The routes that are asked, `GET /v1/…`. */
  routes: string[];
  /** What the caller is allowed besides, on everything. */
  besides?: ActionPattern[];
  /** Allowed on the thing alone, these suffice, and without them the way is closed. Without any it is open. */
  needs?: Action[];
  /** Each of these, denied on the thing, closes the way, whatever else is allowed. */
  denied: Action[];
  /** By a service account that signs, in the place of a person. */
  signed?: true;
  /** The same, with its key and secret in a header. */
  directory?: true;
  /** A Deny on any other thing closes the way as well. */
  whatever?: true;
  make(company: Company, caller: Principal): Promise<AccessTarget>;
  /** Whether an answer shows or has done it, where success alone does not say so. */
  reached?(answer: ApiResponse): boolean;
}

export const makeArn = (company: Pick<Company, 'id'>, place: string, id: string): string => {
  const [service, type] = place.split(':');
  return `arn:svc:${service}::${company.id}:${type}/${id}`;
};

const TYPES: Record<string, string> = {
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

/** The ARN of a thing by what people call it. */
export const makeResourceArn = (company: Pick<Company, 'id'>, thing: string, id: string): string => {
  const place = TYPES[thing];
  if (place === undefined) throw new Error(`Nothing is called ${thing}.`);
  return makeArn(company, place, id);
};

export const post =
  (path: string, json: object = {}) =>
  (as: Caller): Promise<ApiResponse> =>
    as.post(path, { json });
export const get =
  (path: string) =>
  (as: Caller): Promise<ApiResponse> =>
    as.get(path);
export const put =
  (path: string, json: object) =>
  (as: Caller): Promise<ApiResponse> =>
    as.put(path, { json });
export const patch =
  (path: string, json: object) =>
  (as: Caller): Promise<ApiResponse> =>
    as.patch(path, { json });
export const remove =
  (path: string) =>
  (as: Caller): Promise<ApiResponse> =>
    as.delete(path);
