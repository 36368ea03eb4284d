import type { Action, ResourceType } from '../permissions/actions.ts';
import { resourceArn } from '../permissions/arn.ts';
import { type Denials, NOTHING_DENIED } from '../permissions/denials.ts';
import type { Actor, Principal } from './actors.ts';
import { type Access, decide, findRules } from './evaluation.ts';

/** A type of record: the actions whose Deny hides a record from lists (`list`), and everywhere else (`get`). */
interface RecordKindActions {
  list: readonly Action[];
  get: readonly Action[];
  /** The resource type, of an action's service with several. */
  type?: ResourceType;
}

const makeListedAndReadKind = (list: Action, get: Action): RecordKindActions => ({ list: [list, get], get: [get] });
const makeListedOnlyKind = (action: Action, type?: ResourceType): RecordKindActions => ({
  list: [action],
  get: [action],
  ...(type && { type }),
});
const makeSharedKind = (get: Action, share: Action): RecordKindActions => ({ list: [get, share], get: [get, share] });

/** The kinds of records in lists. Users, groups and service accounts have the actions of each surface. */
const RECORD_KINDS = {
  account: makeListedAndReadKind('accounts:ListAccounts', 'accounts:GetAccount'),
  service_account: makeListedAndReadKind('service-accounts:ListServiceAccounts', 'service-accounts:GetServiceAccount'),
  organization_user: makeListedAndReadKind('users:ListUsers', 'users:GetUser'),
  organization_group: makeListedAndReadKind('groups:ListGroups', 'groups:GetGroup'),
  user: makeListedAndReadKind('users:list', 'users:get'),
  /** A service account, in the words of the console. */
  integration_user: makeListedOnlyKind('users:list_integration_users'),
  /** A service account that a group or an analysis shows: denied by the actions that show it on either surface. */
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
  /** A dashboard or visualization as shares, grants and their events name it. */
  shared_dashboard: makeSharedKind('dashboards:get', 'dashboards:share'),
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

/** The records that Deny statements hide from the caller in lists. Outsiders, viewers and background work are denied nothing. */
export const findDeniedInLists = (actor: Actor, kind: RecordKind): Denials => getDenials(actor, kind, 'list');

/** The records that Deny statements hide from the caller everywhere, as if they were not there. */
export const findDeniedEverywhere = (actor: Actor, kind: RecordKind): Denials => getDenials(actor, kind, 'get');

/** Whether a Deny keeps one record from the caller everywhere. */
export function isDenied(actor: Actor, kind: RecordKind, id: string): boolean {
  if (!isPrincipal(actor)) return false;
  const { get: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return actions.some((action) => isDeniedOn(actor.access, action, resourceArn(action, actor.companyId, id, type)));
}

/** Whether the caller may get one record, by the actions that its GET asks for. */
export function mayGet(actor: Principal, kind: RecordKind, id: string): boolean {
  const { get: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return actions.every(
    (action) => decide(actor.access, action, resourceArn(action, actor.companyId, id, type)).allowed,
  );
}

/** Whether a Deny keeps an action on a resource, by its ARN, from somebody. */
export const isDeniedOn = (access: Access, action: Action, resource: string): boolean =>
  decide(access, action, resource).decided_by.kind === 'deny';

function getDenials(actor: Actor, kind: RecordKind, where: 'list' | 'get'): Denials {
  const { [where]: actions, type } = RECORD_KINDS[kind] as RecordKindActions;
  return isPrincipal(actor) ? listDeniedIds(actor, actions, type) : NOTHING_DENIED;
}

const isPrincipal = (actor: Actor): actor is Principal => actor.kind === 'user' || actor.kind === 'service_account';

/** The ids on which one of the actions is denied. */
export function listDeniedIds(
  { access, companyId }: Principal,
  actions: readonly Action[],
  type?: ResourceType,
): Denials {
  if (access.isOwner) return NOTHING_DENIED;
  const found = new Set(actions.flatMap((action) => listDeniedPatterns(access, action, companyId, type)));
  if (found.has('*')) return { everything: true, ids: [], patterns: [] };
  const all = [...found];
  return {
    everything: false,
    ids: all.filter((pattern) => !pattern.includes('*')),
    patterns: all.filter((pattern) => pattern.includes('*')),
  };
}

function listDeniedPatterns(access: Access, action: Action, companyId: string, type?: ResourceType): string[] {
  const { deny } = findRules(access, action);
  if (deny.length === 0) return [];
  const prefix = resourceArn(action, companyId, '', type);
  return deny.flatMap(({ resource }) => findPatternsAfter(resource, prefix).filter(canMatchId));
}

const ID_LENGTH = 24;

/** Whether a pattern fits any id. It is 49 characters long at the most then, and D1 takes 50. */
function canMatchId(pattern: string): boolean {
  const literal = pattern.replaceAll('*', '');
  if (!/^[0-9a-f]*$/.test(literal) || literal.length > ID_LENGTH) return false;
  return literal.length === ID_LENGTH || pattern.includes('*');
}

/** Patterns, without consecutive `*`, that match all that can follow `prefix` in the texts that `pattern` matches. */
export function findPatternsAfter(pattern: string, prefix: string): string[] {
  const text = pattern.replaceAll(/\*+/g, '*');
  let places = [0];
  for (const character of prefix) {
    places = dropBeforeLastStar(
      text,
      places.flatMap((place) => {
        if (text[place] === '*') return text[place + 1] === character ? [place, place + 2] : [place];
        return text[place] === character ? [place + 1] : [];
      }),
    );
    if (places.length === 0) return [];
  }
  return [...new Set(places.map((place) => text.slice(place)))];
}

/** Drops the positions before the last `*` that was reached, from which everything can be matched that they can. */
function dropBeforeLastStar(text: string, places: readonly number[]): number[] {
  const star = Math.max(-1, ...places.filter((place) => text[place] === '*'));
  return [...new Set(places.filter((place) => place >= star))];
}
