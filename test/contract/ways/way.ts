import type { Action } from '../../../src/permissions/actions.ts';
import type { Answer, Caller } from '../../support/api.ts';
import type { Principal } from '../../support/principals.ts';
import type { Company } from '../../support/worlds.ts';

/** An action, or a pattern of some. */
export type Allowed = Action | `${string}*`;

/** A thing that a way leads to, by the ARN that policies name it by, and what a caller asks to go that way. */
export interface Reach {
  arn: string;
  ask(as: Caller): Promise<Answer>;
}

/** A way to read or change a protected thing. Every thing is made anew by the owner. */
export interface Way {
  thing: string;
  way: string;
  /** The routes that are asked, `GET /v1/…`. */
  routes: string[];
  /** What the caller is allowed besides, on everything. */
  besides?: Allowed[];
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
  make(company: Company, caller: Principal): Promise<Reach>;
  /** Whether an answer shows or has done it, where success alone does not say so. */
  reached?(answer: Answer): boolean;
}

export const arnOf = (company: Pick<Company, 'id'>, place: string, id: string): string => {
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
export const thingArn = (company: Pick<Company, 'id'>, thing: string, id: string): string => {
  const place = TYPES[thing];
  if (place === undefined) throw new Error(`Nothing is called ${thing}.`);
  return arnOf(company, place, id);
};

export const post =
  (path: string, json: object = {}) =>
  (as: Caller): Promise<Answer> =>
    as.post(path, { json });
export const get =
  (path: string) =>
  (as: Caller): Promise<Answer> =>
    as.get(path);
export const put =
  (path: string, json: object) =>
  (as: Caller): Promise<Answer> =>
    as.put(path, { json });
export const patch =
  (path: string, json: object) =>
  (as: Caller): Promise<Answer> =>
    as.patch(path, { json });
export const remove =
  (path: string) =>
  (as: Caller): Promise<Answer> =>
    as.delete(path);
