import { isDenied } from '../../access/denials.ts';
import { allowedActions, compileAccess, type Decision, decide } from '../../access/evaluation.ts';
import { accessReads, accessSources, getCallerSubject } from '../../access/sources.ts';
import type { PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { Action } from '../../permissions/actions.ts';
import { policyArn } from '../../permissions/arn.ts';
import { managedPolicyById } from '../../permissions/managed-policies.ts';
import { selectServiceAccount, serviceAccountNotFound } from '../service-accounts/service.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { selectPrincipalPolicies } from './policy-store.ts';

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
    const policy = policies.get(policyId) ?? described(companyId, policyId, name);
    if (!policy) continue;
    policy.groupIds.push(groupId);
    policies.set(policyId, policy);
  }
  return { policies: [...policies.values()], actions: allowedActions(access) };
}

function described(companyId: string, id: string, ownName: string | null): ReachingPolicy | undefined {
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
 * Decides as the guard would if a principal of the company asked: from the same sources, by the same evaluation.
 */
export async function simulate(
  ctx: PrincipalContext,
  principal: PrincipalReference,
  checks: Check[],
): Promise<(Check & Decision)[]> {
  const access = compileAccess(await readSources(ctx, principal));
  return checks.map((check) => ({ ...check, ...decide(access, check.action, check.resource) }));
}

async function readSources(ctx: PrincipalContext, { type, id }: PrincipalReference) {
  const { companyId } = ctx.actor;
  const of = { companyId, principalType: type, principalId: id };
  if (type === 'user') {
    const {
      user: [user],
      access,
    } = await readTogether(ctx.db, { user: selectUser(ctx.db, companyId, id), access: accessReads(ctx.db, of) });
    if (!user || isDenied(ctx.actor, 'user', id)) throw userNotFound('principal.id');
    return accessSources(companyId, user.isOwner, access);
  }
  const [serviceAccount] = await selectServiceAccount(ctx.db, companyId, id);
  if (!serviceAccount || isDenied(ctx.actor, 'named_service_account', id)) throw serviceAccountNotFound('principal.id');
  const { accountId } = serviceAccount;
  return accessSources(companyId, false, await readTogether(ctx.db, accessReads(ctx.db, { ...of, accountId })));
}
