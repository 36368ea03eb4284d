import type { Action } from '../permissions/actions.ts';
import { ALL_ACTIONS, getActionEntry } from '../permissions/actions.ts';
import type { GroupRole, LegacyGrant, LegacyPermission } from '../permissions/legacy.ts';
import { toPermissionGrant, toRoleGrant } from '../permissions/legacy.ts';
import type { PolicyDocument, PolicyStatement } from '../permissions/policy-document.ts';
import { compilePattern, type Matcher, matchesEverything } from '../permissions/wildcard.ts';

/** The policies, permissions and privileges of a group, which apply to its members. */
export interface GroupGrants {
  id: string;
  policies: readonly { id: string; document: PolicyDocument }[];
  roles: readonly GroupRole[];
  permissions: readonly LegacyPermission[];
}

/** A set of groups whose access is evaluated: a principal's groups, or those about to be granted. */
export interface Grants {
  companyId: string;
  groups: readonly GroupGrants[];
}

/** The sources of one principal's access. Service accounts own nothing. */
export interface AccessSources extends Grants {
  isOwner: boolean;
}

/** Decision on an action, and the rule that made it. Fields that do not apply to the kind of rule are null. */
export interface Decision {
  allowed: boolean;
  decided_by: {
    kind: 'owner' | 'deny' | 'allow' | 'legacy' | 'none';
    policy_id: string | null;
    sid: string | null;
    group_id: string | null;
  };
}

/** One resource pattern on which an action is denied or allowed. */
export interface Rule {
  resource: string;
  matchesResource: Matcher;
  decision: Decision;
}

/** All rules on one action, in the order of the sources. */
export interface ActionRules {
  denyRules: Rule[];
  allowRules: Rule[];
  legacyRules: Rule[];
}

interface IndexedRules extends ActionRules {
  action: Action;
  decisionsByResource: Map<string, Decision>;
}

interface CompiledStatement {
  statement: PolicyStatement;
  /** The statement's action patterns, compiled. */
  actionMatchers: Matcher[];
  decision: Decision;
}

/** A group's compiled grants; shared by all principals in the group. Only `sourceText` is public. */
export interface CompiledGroup {
  /** The input, as text: equal texts compile to equal groups. */
  readonly sourceText: string;
  readonly statements: readonly CompiledStatement[];
  readonly legacyGrants: readonly { grant: LegacyGrant; decision: Decision }[];
}

/** A principal's compiled access, made by `compileAccess`. Its fields are private to this module, but for `groups`. */
export interface Access {
  readonly isOwner: boolean;
  readonly groups: readonly CompiledGroup[];
  /** The scopes of the OAuth client that acts on behalf of the principal, as action patterns; null without a client. */
  readonly scopes: readonly string[] | null;
  /** The rules by action, made when they are first needed. */
  rulesByAction: Map<Action, IndexedRules> | null;
  /** The rules of the action evaluated last: a request evaluates one action on many resources. */
  latestRules: IndexedRules | null;
}

/** Maximum number of cached decisions per action: more than a request needs, few enough for a long-lived access. */
const MAX_CACHED_DECISIONS = 1024;

const makeDecision = (
  kind: Decision['decided_by']['kind'],
  groupId: string | null = null,
  policyId: string | null = null,
  sid: string | null = null,
): Decision => ({
  allowed: kind === 'owner' || kind === 'allow' || kind === 'legacy',
  decided_by: { kind, policy_id: policyId, sid, group_id: groupId },
});

const OWNER_DECISION = makeDecision('owner');
const NO_DECISION = makeDecision('none');
/** The decision on an action that is allowed unless it is denied. */
const NOT_DENIED_DECISION: Decision = { ...NO_DECISION, allowed: true };

/** Compiles the sources of a principal's access. All documents must be valid. */
export const compileAccess = ({ companyId, isOwner, groups }: AccessSources): Access => ({
  isOwner,
  groups: groups.map((group) => compileGroup(companyId, group)),
  scopes: null,
  rulesByAction: null,
  latestRules: null,
});

function compileGroup(companyId: string, group: GroupGrants): CompiledGroup {
  const statements: CompiledStatement[] = [];
  for (const policy of group.policies) {
    for (const statement of policy.document.statements) {
      const kind = statement.effect === 'Deny' ? 'deny' : 'allow';
      const decision = makeDecision(kind, group.id, policy.id, statement.sid ?? null);
      statements.push({ statement, actionMatchers: statement.actions.map(compilePattern), decision });
    }
  }
  const grants = [
    ...group.roles.map(toRoleGrant),
    ...group.permissions.map((permission) => toPermissionGrant(permission, companyId)),
  ];
  const decision = makeDecision('legacy', group.id);
  const legacyGrants = grants.flatMap((grant) => (grant ? [{ grant, decision }] : []));
  return { sourceText: JSON.stringify([companyId, group]), statements, legacyGrants };
}

/** Lists the sources of an access as values to compare: two principals have equal ones only if they may do the same. */
export const listSources = ({ isOwner, groups, scopes }: Access): readonly unknown[] => [
  isOwner,
  scopes,
  ...groups.map(({ sourceText }) => sourceText).toSorted(),
];

/** Limits an access to the scopes of an OAuth client: one of the scopes must also match an allowed action. */
export const limitToScopes = (access: Access, scopes: readonly string[]): Access =>
  copyForRequest({ ...access, scopes });

/** Returns true if the scopes allow the action at all, and always if the principal acts without a client. */
const isInScope = ({ scopes }: Access, action: Action): boolean =>
  scopes === null || scopes.some((pattern) => compilePattern(pattern)(action));

/**
 * Finds the scopes that an OAuth client needs for an action that only its scopes refuse: its current scopes, so that a
 * new consent removes none of them, and the action. Null if the scopes allow the action, or if the principal may not
 * perform the action either.
 */
export function findNeededScopes(access: Access, action: Action, resource: string): readonly string[] | null {
  const { scopes } = access;
  if (scopes === null || isInScope(access, action)) return null;
  const principalAccess = { ...copyForRequest(access), scopes: null };
  return decideAccess(principalAccess, action, resource).allowed ? [...scopes, action] : null;
}

/** Copies an access for one request: the index of its rules is discarded with the copy. */
export const copyForRequest = (access: Access): Access => ({ ...access, rulesByAction: null, latestRules: null });

/**
 * Decides on `action` and `resource`: the owner is allowed; else an explicit Deny denies; else any Allow allows; else a
 * legacy grant allows; else it is denied, but for the few actions that are allowed unless they are denied. An action
 * outside the scopes of an OAuth client is never allowed. `resource` is one ARN. Listing and creating use the ARN that
 * ends in `/*`, which only patterns for every resource of the type match. If several statements match, the decision
 * names the first.
 */
export function decideAccess(access: Access, action: Action, resource: string): Decision {
  if (access.isOwner) return isInScope(access, action) ? OWNER_DECISION : NO_DECISION;
  const { latestRules } = access;
  const rules = latestRules !== null && latestRules.action === action ? latestRules : getIndexedRules(access, action);
  return rules.decisionsByResource.get(resource) ?? resolveRules(rules, resource);
}

/** Finds all rules on `action`, without the owner's privilege; for an OAuth client of the owner that privilege is a rule. */
export function findRules(access: Access, action: Action): ActionRules {
  if (access.isOwner && access.scopes !== null) {
    const ownerRule: Rule = { resource: '*', matchesResource: () => true, decision: OWNER_DECISION };
    return { denyRules: [], allowRules: isInScope(access, action) ? [ownerRule] : [], legacyRules: [] };
  }
  return getIndexedRules(access, action);
}

/** Returns true if the decision on `action` may differ between resources: some rule has another pattern than `*`. */
export function dependsOnResource(access: Access, action: Action): boolean {
  if (access.isOwner) return false;
  const { denyRules, allowRules, legacyRules } = getIndexedRules(access, action);
  return [denyRules, allowRules, legacyRules].some((rules) => rules.some(({ resource }) => resource !== '*'));
}

/** Lists the actions that an Allow permits on `*`, that is on all resources; actions that need no Allow are left out. */
export function listAllowedActions(access: Access): Action[] {
  return ALL_ACTIONS.filter((action) => {
    const decision = decideAccess(access, action, '*');
    return decision.allowed && decision !== NOT_DENIED_DECISION;
  });
}

/** Returns true for an administrator: the owner, or a principal with an Allow of `*` on `*` and without any Deny. */
export function isAdministrator(access: Access): boolean {
  if (access.isOwner) return true;
  const statements = access.groups.flatMap((group) => group.statements);
  return (
    statements.every(({ statement }) => statement.effect === 'Allow') &&
    statements.some(
      ({ statement }) => statement.actions.some(matchesEverything) && statement.resources.some(matchesEverything),
    )
  );
}

/** Returns true for an administrator's access without scopes: its holder may grant anything. */
export const isUnrestricted = (access: Access): boolean => access.scopes === null && isAdministrator(access);

function getIndexedRules(access: Access, action: Action): IndexedRules {
  const rules = access.rulesByAction?.get(action) ?? indexAction(access, action);
  access.latestRules = rules;
  return rules;
}

function indexAction(access: Access, action: Action): IndexedRules {
  const rules: IndexedRules = {
    action,
    denyRules: [],
    allowRules: [],
    legacyRules: [],
    decisionsByResource: new Map(),
  };
  const isActionInScope = isInScope(access, action);
  for (const { statements, legacyGrants } of access.groups) {
    for (const { statement, actionMatchers, decision } of statements) {
      if (!actionMatchers.some((matchesAction) => matchesAction(action))) continue;
      if (statement.effect === 'Deny') addRules(rules.denyRules, statement.resources, decision);
      else if (isActionInScope) addRules(rules.allowRules, statement.resources, decision);
    }
    for (const { grant, decision } of legacyGrants) {
      if (isActionInScope && grant.allowsAction(action)) addRules(rules.legacyRules, grant.resourcePatterns, decision);
    }
  }
  access.rulesByAction ??= new Map();
  access.rulesByAction.set(action, rules);
  return rules;
}

function addRules(to: Rule[], resources: readonly string[], decision: Decision): void {
  for (const resource of resources) to.push({ resource, matchesResource: compilePattern(resource), decision });
}

function resolveRules(rules: IndexedRules, resource: string): Decision {
  const matchesResource = (rule: Rule): boolean => rule.matchesResource(resource);
  const foundDecision = (
    rules.denyRules.find(matchesResource) ??
    rules.allowRules.find(matchesResource) ??
    rules.legacyRules.find(matchesResource)
  )?.decision;
  const decision =
    foundDecision ?? (getActionEntry(rules.action).isAllowedUnlessDenied ? NOT_DENIED_DECISION : NO_DECISION);
  if (rules.decisionsByResource.size >= MAX_CACHED_DECISIONS) rules.decisionsByResource.clear();
  rules.decisionsByResource.set(resource, decision);
  return decision;
}
