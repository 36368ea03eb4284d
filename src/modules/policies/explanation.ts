import { isDenied } from '../../access/denials.ts';
import { compileAccess, type Decision, decide, listAllowedActions } from '../../access/evaluation.ts';
import { getCallerSubject, selectAccess, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Action } from '../../permissions/actions.ts';
import { policyArn } from '../../permissions/arn.ts';
import { managedPolicyById } from '../../permissions/managed-policies.ts';
import { selectServiceAccount, serviceAccountNotFound } from '../service-accounts/service.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { selectPrincipalPolicies } from './policy-store.ts';
import { findHiddenPolicies } from './service.ts';

/** A policy that reaches somebody, and the groups it comes through. */
export interface ReachingPolicy {
  id: string;
  arn: string;
  name: string;
  type: 'managed' | 'inline';
  groupIds: string[];
}

/** The access of a caller, explained. */
export interface OwnAccess {
  policies: ReachingPolicy[];
  actions: Action[];
}

/** Returns the policies that reach the caller, and the actions that they may do on every resource at once. */
export async function explainOwnAccess(ctx: PrincipalContext): Promise<OwnAccess> {
  const { companyId, access } = ctx.actor;
  const found = await selectPrincipalPolicies(ctx.db, companyId, getCallerSubject(ctx.actor));
  const policies = new Map<string, ReachingPolicy>();
  for (const { policyId, groupId, name } of found) {
    const policy = policies.get(policyId) ?? describePolicy(companyId, policyId, name);
    if (!policy) continue;
    if (!isDenied(ctx.actor, 'group', groupId)) policy.groupIds.push(groupId);
    policies.set(policyId, policy);
  }
  const hidden = await findHiddenPolicies(ctx, [...policies.keys()]);
  return { policies: [...policies.values()].filter(({ id }) => !hidden.has(id)), actions: listAllowedActions(access) };
}

function describePolicy(companyId: string, id: string, ownName: string | null): ReachingPolicy | undefined {
  const managed = managedPolicyById(id);
  if (managed) return { id, arn: managed.arn, name: managed.name, type: 'managed', groupIds: [] };
  if (ownName === null) return undefined;
  return { id, arn: policyArn(companyId, 'inline', ownName), name: ownName, type: 'inline', groupIds: [] };
}

export interface PrincipalReference {
  type: 'user' | 'service_account';
  id: string;
}

export interface Check {
  action: Action;
  /** One ARN, or `*` for all resources at once. */
  resource: string;
}

/**
 * Decides whether a principal of the company may do actions, from the same sources and by the same evaluation as for real
 * requests.
 */
export async function simulate(
  ctx: PrincipalContext,
  principal: PrincipalReference,
  checks: Check[],
): Promise<(Check & Decision)[]> {
  const access = compileAccess(await readSources(ctx, principal));
  const decisions = checks.map((check) => ({ ...check, ...decide(access, check.action, check.resource) }));
  const rules = await showRules(
    ctx,
    decisions.map((decision) => decision.decided_by),
  );
  return decisions.map((decision, at) => ({ ...decision, decided_by: rules[at] as Rule }));
}

export type Rule = Decision['decided_by'];

/** The rules that decide, as the caller may see them: without the policies and groups that a Deny keeps from the caller. */
export async function showRules(ctx: PrincipalContext, rules: readonly Rule[]): Promise<Rule[]> {
  const hidden = await findHiddenPolicies(
    ctx,
    rules.flatMap(({ policy_id }) => policy_id ?? []),
  );
  return rules.map((rule) => ({
    ...rule,
    ...(rule.policy_id !== null && hidden.has(rule.policy_id) && { policy_id: null, sid: null }),
    ...(rule.group_id !== null && isDenied(ctx.actor, 'group', rule.group_id) && { group_id: null }),
  }));
}

async function readSources(ctx: PrincipalContext, { type, id }: PrincipalReference) {
  const { companyId } = ctx.actor;
  const of = { companyId, principalType: type, principalId: id };
  if (type === 'user') {
    const {
      user: [user],
      access,
    } = await readTogether(ctx.db, { user: selectUser(ctx.db, companyId, id), access: selectAccess(ctx.db, of) });
    if (!user || isDenied(ctx.actor, 'user', id)) throw userNotFound('principal.id');
    return toAccessSources(companyId, user.isOwner, access);
  }
  const [serviceAccount] = await selectServiceAccount(ctx.db, companyId, id);
  if (!serviceAccount || isDenied(ctx.actor, 'named_service_account', id)) throw serviceAccountNotFound('principal.id');
  const { accountId } = serviceAccount;
  return toAccessSources(companyId, false, await readTogether(ctx.db, selectAccess(ctx.db, { ...of, accountId })));
}
