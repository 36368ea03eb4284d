import { isDenied } from '../../access/denials.ts';
import { compileAccess, type Decision, decideAccess, listAllowedActions } from '../../access/evaluation.ts';
import type { NamedPrincipal } from '../../access/population.ts';
import { getCallerSubject, selectAccess, toAccessSources } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Action } from '../../permissions/actions.ts';
import { makePolicyArn } from '../../permissions/arn.ts';
import { findManagedPolicyById } from '../../permissions/managed-policies.ts';
import { selectServiceAccount, serviceAccountNotFound } from '../service-accounts/service.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { selectPrincipalPolicies } from './policy-store.ts';
import { findHiddenPolicies } from './service.ts';

/** A policy that applies to a principal, and the groups through which it applies. */
export interface AppliedPolicy {
  id: string;
  arn: string;
  name: string;
  type: 'managed' | 'inline';
  groupIds: string[];
}

/** The caller's access, with the policies that it comes from. */
export interface CallerAccess {
  policies: AppliedPolicy[];
  actions: Action[];
}

/** Returns the policies that apply to the caller, and the actions that the caller may do on every resource. */
export async function explainOwnAccess(ctx: PrincipalContext): Promise<CallerAccess> {
  const { companyId, access } = ctx.actor;
  const policyRows = await selectPrincipalPolicies(ctx.db, companyId, getCallerSubject(ctx.actor));
  const policies = new Map<string, AppliedPolicy>();
  for (const { policyId, groupId, name } of policyRows) {
    const policy = policies.get(policyId) ?? describePolicy(companyId, policyId, name);
    if (!policy) continue;
    if (!isDenied(ctx.actor, 'group', groupId)) policy.groupIds.push(groupId);
    policies.set(policyId, policy);
  }
  const hiddenPolicies = await findHiddenPolicies(ctx, [...policies.keys()]);
  return {
    policies: [...policies.values()].filter(({ id }) => !hiddenPolicies.has(id)),
    actions: listAllowedActions(access),
  };
}

function describePolicy(companyId: string, id: string, ownName: string | null): AppliedPolicy | undefined {
  const managedPolicy = findManagedPolicyById(id);
  if (managedPolicy) return { id, arn: managedPolicy.arn, name: managedPolicy.name, type: 'managed', groupIds: [] };
  if (ownName === null) return undefined;
  return { id, arn: makePolicyArn(companyId, 'inline', ownName), name: ownName, type: 'inline', groupIds: [] };
}

export interface AccessCheck {
  action: Action;
  /** One ARN, or `*` for all resources at once. */
  resource: string;
}

/** Decides whether a principal may do actions, from the sources and by the evaluation of real requests. */
export async function simulateAccess(
  ctx: PrincipalContext,
  principal: Pick<NamedPrincipal, 'type' | 'id'>,
  checks: AccessCheck[],
): Promise<(AccessCheck & Decision)[]> {
  const access = compileAccess(await readAccessSources(ctx, principal));
  const decisions = checks.map((check) => ({ ...check, ...decideAccess(access, check.action, check.resource) }));
  const rules = await filterVisibleRules(
    ctx,
    decisions.map((decision) => decision.decided_by),
  );
  return decisions.map((decision, at) => ({ ...decision, decided_by: rules[at] as Rule }));
}

export type Rule = Decision['decided_by'];

/** Returns the deciding rules as the caller may see them: without policies and groups that a Deny hides from the caller. */
export async function filterVisibleRules(ctx: PrincipalContext, rules: readonly Rule[]): Promise<Rule[]> {
  const hiddenPolicies = await findHiddenPolicies(
    ctx,
    rules.flatMap(({ policy_id }) => policy_id ?? []),
  );
  return rules.map((rule) => ({
    ...rule,
    ...(rule.policy_id !== null && hiddenPolicies.has(rule.policy_id) && { policy_id: null, sid: null }),
    ...(rule.group_id !== null && isDenied(ctx.actor, 'group', rule.group_id) && { group_id: null }),
  }));
}

async function readAccessSources(ctx: PrincipalContext, { type, id }: Pick<NamedPrincipal, 'type' | 'id'>) {
  const { companyId } = ctx.actor;
  const principal = { companyId, principalType: type, principalId: id };
  if (type === 'user') {
    const {
      user: [user],
      access,
    } = await readTogether(ctx.db, {
      user: selectUser(ctx.db, companyId, id),
      access: selectAccess(ctx.db, principal),
    });
    if (!user || isDenied(ctx.actor, 'user', id)) throw userNotFound('principal.id');
    return toAccessSources(companyId, user.isOwner, access);
  }
  const [serviceAccount] = await selectServiceAccount(ctx.db, companyId, id);
  if (!serviceAccount || isDenied(ctx.actor, 'named_service_account', id)) throw serviceAccountNotFound('principal.id');
  const { accountId } = serviceAccount;
  return toAccessSources(
    companyId,
    false,
    await readTogether(ctx.db, selectAccess(ctx.db, { ...principal, accountId })),
  );
}
