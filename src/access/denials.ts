import type { Action, ResourceType } from '../permissions/actions.ts';
import { makeResourceArn } from '../permissions/arn.ts';
import { type Denials, EVERYTHING_DENIED, NOTHING_DENIED } from '../permissions/denials.ts';
import type { Actor, Principal } from './actors.ts';
import { type Access, decideAccess, findRules } from './evaluation.ts';

/** Record kind: the actions whose Deny hides a record from lists (`list`), and from all other reads (`get`). */
interface RecordKindActions {
  list: readonly Action[];
  get: readonly Action[];
  /** The resource type, for actions of a service with several types. */
  type?: ResourceType;
}

const makeListedAndReadKind = (listAction: Action, getAction: Action): RecordKindActions => ({
  list: [listAction, getAction],
  get: [getAction],
});
const makeListedOnlyKind = (action: Action, type?: ResourceType): RecordKindActions => ({
  list: [action],
  get: [action],
  ...(type && { type }),
});
const makeSharedKind = (getAction: Action, shareAction: Action): RecordKindActions => ({
  list: [getAction, shareAction],
  get: [getAction, shareAction],
});

/** Kinds of records in lists. Users, groups and service accounts have the actions of each surface. */
const RECORD_KINDS = {
  account: makeListedAndReadKind('accounts:ListAccounts', 'accounts:GetAccount'),
  service_account: makeListedAndReadKind('service-accounts:ListServiceAccounts', 'service-accounts:GetServiceAccount'),
  organization_user: makeListedAndReadKind('users:ListUsers', 'users:GetUser'),
  organization_group: makeListedAndReadKind('groups:ListGroups', 'groups:GetGroup'),
  user: makeListedAndReadKind('users:list', 'users:get'),
  /** Service account as the console lists it. */
  integration_user: makeListedOnlyKind('users:list_integration_users'),
  /** Service account within a group or an analysis, hidden by a Deny of the actions that show it on either surface. */
  named_service_account: {
    list: ['service-accounts:GetServiceAccount', 'users:list_integration_users'],
    get: ['service-accounts:GetServiceAccount', 'users:list_integration_users'],
  },
  api_key: makeListedAndReadKind('api_keys:list', 'api_keys:get'),
  group: makeListedAndReadKind('groups:list', 'groups:get'),
  permission: makeListedAndReadKind('permissions:list', 'permissions:get'),
  table: makeListedOnlyKind('managed-tables:list'),
  visualization: makeListedAndReadKind('visualizations:list', 'visualizations:get'),
  dashboard: makeListedAndReadKind('dashboards:list', 'dashboards:get'),
  /** Dashboard as shares, grants and their events name it. */
  shared_dashboard: makeSharedKind('dashboards:get', 'dashboards:share'),
  /** Visualization as shares, grants and their events name it. */
  shared_visualization: makeSharedKind('visualizations:get', 'visualizations:share'),
  endpoint: makeListedAndReadKind('viz_api_endpoints:list', 'viz_api_endpoints:get'),
  webhook_endpoint: makeListedAndReadKind('webhooks:list', 'webhooks:get'),
  concept: makeListedAndReadKind('concepts:list', 'concepts:get'),
  semantic: makeListedOnlyKind('semantic:list', 'item'),
  ontology_node: makeListedOnlyKind('ontology:list', 'node'),
  ontology_relation: makeListedOnlyKind('ontology:list', 'relation'),
  suggestion: makeListedOnlyKind('knowledge_reviews:list'),
} as const satisfies Record<string, RecordKindActions>;

export type RecordKind = keyof typeof RECORD_KINDS;

/** Finds the records that Deny statements hide from the caller in lists. Outsiders, viewers and background work have none. */
export const findListDenials = (actor: Actor, kind: RecordKind): Denials => getDenials(actor, kind, 'list');

/** Finds the records that Deny statements hide from the caller everywhere, as if they did not exist. */
export const findReadDenials = (actor: Actor, kind: RecordKind): Denials => getDenials(actor, kind, 'get');

/** Returns true if a Deny hides one record from the caller everywhere. */
export function isDenied(actor: Actor, kind: RecordKind, id: string): boolean {
  if (!isPrincipal(actor)) return false;
  const { get: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return actions.some((action) => isDeniedOn(actor.access, action, makeResourceArn(action, actor.companyId, id, type)));
}

/** Returns true if the caller may get one record, by the actions that the record's GET requires. */
export function mayGetRecord(actor: Principal, kind: RecordKind, id: string): boolean {
  const { get: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return actions.every(
    (action) => decideAccess(actor.access, action, makeResourceArn(action, actor.companyId, id, type)).allowed,
  );
}

/** Returns true if a Deny of `access` applies to an action on a resource, named by its ARN. */
export const isDeniedOn = (access: Access, action: Action, resource: string): boolean =>
  decideAccess(access, action, resource).decided_by.kind === 'deny';

function getDenials(actor: Actor, kind: RecordKind, scope: 'list' | 'get'): Denials {
  const { [scope]: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return isPrincipal(actor) ? listDeniedIds(actor, actions, type) : NOTHING_DENIED;
}

const isPrincipal = (actor: Actor): actor is Principal => actor.kind === 'user' || actor.kind === 'service_account';

/** Lists the ids on which one of the actions is denied. */
export function listDeniedIds(
  { access, companyId }: Principal,
  actions: readonly Action[],
  type?: ResourceType,
): Denials {
  if (access.isOwner) return NOTHING_DENIED;
  const deniedPatterns = new Set(actions.flatMap((action) => listDeniedPatterns(access, action, companyId, type)));
  if (deniedPatterns.has('*')) return EVERYTHING_DENIED;
  const patternList = [...deniedPatterns];
  return {
    everything: false,
    ids: patternList.filter((pattern) => !pattern.includes('*')),
    patterns: patternList.filter((pattern) => pattern.includes('*')),
  };
}

function listDeniedPatterns(access: Access, action: Action, companyId: string, type?: ResourceType): string[] {
  const { denyRules } = findRules(access, action);
  if (denyRules.length === 0) return [];
  const prefix = makeResourceArn(action, companyId, '', type);
  return denyRules.flatMap(({ resource }) => listPatternsAfterPrefix(resource, prefix).filter(canMatchId));
}

const ID_LENGTH = 24;

/** Returns true if some id can match a pattern; such a pattern has at most 49 characters, of the 50 that D1 takes. */
function canMatchId(pattern: string): boolean {
  const literal = pattern.replaceAll('*', '');
  if (!/^[0-9a-f]*$/.test(literal) || literal.length > ID_LENGTH) return false;
  return literal.length === ID_LENGTH || pattern.includes('*');
}

/** Finds patterns, without consecutive `*`, that match all continuations of `prefix` in texts that match `pattern`. */
export function listPatternsAfterPrefix(pattern: string, prefix: string): string[] {
  const text = pattern.replaceAll(/\*+/g, '*');
  let textPositions = [0];
  for (const character of prefix) {
    textPositions = dropPositionsBeforeStar(
      text,
      textPositions.flatMap((position) => {
        if (text[position] === '*') return text[position + 1] === character ? [position, position + 2] : [position];
        return text[position] === character ? [position + 1] : [];
      }),
    );
    if (textPositions.length === 0) return [];
  }
  return [...new Set(textPositions.map((position) => text.slice(position)))];
}

/** Drops the positions before the last `*` that was reached: everything that they match can be matched from there. */
function dropPositionsBeforeStar(text: string, textPositions: readonly number[]): number[] {
  const lastStar = Math.max(-1, ...textPositions.filter((position) => text[position] === '*'));
  return [...new Set(textPositions.filter((position) => position >= lastStar))];
}
