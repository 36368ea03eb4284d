import { commitAccess, makeAffectedEverybody } from '../../access/commit-access.ts';
import { isDeniedOn } from '../../access/denials.ts';
import { dependsOnResource, findRules } from '../../access/evaluation.ts';
import { requireMayWritePolicy } from '../../access/grants.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { retryOnConcurrentChange } from '../../db/failures.ts';
import { makePolicyArn, makeResourceArn } from '../../permissions/arn.ts';
import { isSmallEnough, type PolicyDocument } from '../../permissions/policy-document.ts';
import {
  makePolicyTooLargeFailure,
  policyInUse,
  policyNameTaken,
  policyNotFound,
  policyNotModifiable,
} from './failures.ts';
import { findManagedPolicy, isManagedPolicyName, type Policy, SYSTEM_POLICIES, toOwnPolicy } from './policy.ts';
import {
  countAttachments,
  deletePolicy as deleteRecord,
  insertPolicy,
  type PolicyChanges,
  type PolicyRecord,
  type PolicySearch,
  readPolicies,
  selectOwnPolicyNames,
  selectPolicy,
  updatePolicy,
} from './policy-store.ts';

export { explainOwnAccess } from './explanation.ts';
export { policyNotFound } from './failures.ts';
export { toOwnPolicy } from './policy.ts';
export { selectPolicy } from './policy-store.ts';

const UNIQUE_NAME_FAILURES = { 'policies.name': policyNameTaken };

/** Returns a page of the managed policies and the company's own policies. */
export async function listPolicies(
  ctx: PrincipalContext,
  search: PolicySearch,
): Promise<{ total: number; records: Policy[] }> {
  const { total, records } = await readPolicies(ctx.db, ctx.actor.companyId, {
    ...search,
    managedPolicies: SYSTEM_POLICIES.filter(({ arn }) => isListedPolicy(ctx, arn)),
    ownPolicyNames: await readListedNames(ctx),
  });
  return { total, records: records.map(({ id, own }) => (own ? toOwnPolicy(own) : (findManagedPolicy(id) as Policy))) };
}

/** Tells whether the caller is denied getting a policy: routes that would name it omit it. */
export const isHiddenPolicy = ({ actor: { access } }: PrincipalContext, arn: string): boolean =>
  isDeniedOn(access, 'policies:get', arn);

/** Returns those of the given ids whose policies the caller is denied getting. */
export async function findHiddenPolicies(ctx: PrincipalContext, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { access, companyId } = ctx.actor;
  if (findRules(access, 'policies:get').denyRules.length === 0) return new Set();
  const ownPolicies = await selectOwnPolicyNames(ctx.db, companyId);
  const ownPolicyArns = new Map(ownPolicies.map(({ id, name }) => [id, makePolicyArn(companyId, 'inline', name)]));
  return new Set(
    ids.filter((id) => {
      const arn = findManagedPolicy(id)?.arn ?? ownPolicyArns.get(id);
      return arn !== undefined && isHiddenPolicy(ctx, arn);
    }),
  );
}

const LISTING_ACTIONS = ['policies:list', 'policies:get'] as const;

const isListedPolicy = ({ actor: { access } }: PrincipalContext, arn: string): boolean =>
  !LISTING_ACTIONS.some((action) => isDeniedOn(access, action, arn));

/**
 * Reads the names of the company's own policies that the caller is not denied. SQL cannot decide that: a denial is a pattern of
 * ARNs, which contain the name, of any characters.
 */
async function readListedNames(ctx: PrincipalContext): Promise<string[] | 'all'> {
  const { access, companyId } = ctx.actor;
  if (!LISTING_ACTIONS.some((action) => dependsOnResource(access, action))) return 'all';
  const ownPolicies = await selectOwnPolicyNames(ctx.db, companyId);
  return ownPolicies.flatMap(({ name }) =>
    isListedPolicy(ctx, makePolicyArn(companyId, 'inline', name)) ? [name] : [],
  );
}

/** Returns a managed policy, or a policy of the company. */
export async function getPolicy(ctx: PrincipalContext, id: string): Promise<Policy> {
  return findManagedPolicy(id) ?? toOwnPolicy(await requireOwnPolicyRecord(ctx, id));
}

/** Returns the ARN on which access to a policy is checked: the policy's name is part of it. */
export const readPolicyArn = async (ctx: PrincipalContext, id: string) => {
  const { companyId } = ctx.actor;
  const policy = findManagedPolicy(id) ?? (await selectPolicy(ctx.db, companyId, id)).map(toOwnPolicy)[0];
  return policy?.arn ?? makeResourceArn('policies:get', companyId);
};

/** Returns the ARN on which creating a policy is checked, whatever its document: the ARN of all policies. */
export const getAllPoliciesArn = async (ctx: PrincipalContext) =>
  makeResourceArn('policies:create', ctx.actor.companyId);

/** Creates a policy of the company's own, attached to nothing. @param input its document has passed `findDocumentProblems` */
export async function createPolicy(
  ctx: PrincipalContext,
  input: { name: string; description: string; document: PolicyDocument },
): Promise<Policy> {
  requireMayWritePolicy(ctx.actor, input.document);
  if (!isSmallEnough(input.document)) throw makePolicyTooLargeFailure();
  if (isManagedPolicyName(input.name)) throw policyNameTaken();
  const now = ctx.now();
  const record = { ...input, id: ctx.newId(), companyId: ctx.actor.companyId, createdAt: now, updatedAt: now };
  await commit(ctx.db, { inserted: insertPolicy(ctx.db, record) }, UNIQUE_NAME_FAILURES);
  return toOwnPolicy(record);
}

/** Copies a policy, possibly a managed one, into a new policy of the company's own. */
export async function clonePolicy(
  ctx: PrincipalContext,
  id: string,
  input: { name: string; description?: string },
): Promise<Policy> {
  const { arn, document, description } = await getPolicy(ctx, id);
  if (isHiddenPolicy(ctx, arn)) throw policyNotFound();
  return createPolicy(ctx, { name: input.name, description: input.description ?? description, document });
}

/** Changes the fields that are sent, wherever the policy is attached. */
export async function changePolicy(ctx: PrincipalContext, id: string, changes: PolicyChanges): Promise<Policy> {
  if (findManagedPolicy(id)) throw policyNotModifiable();
  if (changes.name !== undefined && isManagedPolicyName(changes.name)) throw policyNameTaken();
  if (changes.document && !isSmallEnough(changes.document)) throw makePolicyTooLargeFailure();
  return retryOnConcurrentChange(async () => {
    const { document: previousDocument } = await requireOwnPolicyRecord(ctx, id);
    if (changes.document) requireMayWritePolicy(ctx.actor, changes.document, previousDocument);
    const changeset = { ...changes, updatedAt: ctx.now() };
    const { updated, found } = await commitAccess(
      ctx,
      makeAffectedEverybody(ctx.actor.companyId),
      {
        updated: updatePolicy(ctx.db, ctx.actor.companyId, id, previousDocument, changeset),
        found: selectPolicy(ctx.db, ctx.actor.companyId, id),
      },
      UNIQUE_NAME_FAILURES,
    );
    return updated.length > 0 && found[0] ? toOwnPolicy(found[0]) : undefined;
  });
}

/** Deletes a policy of the company's own that is attached to no group. */
export async function deletePolicy(ctx: PrincipalContext, id: string): Promise<void> {
  const { companyId } = ctx.actor;
  if (findManagedPolicy(id)) throw policyNotModifiable();
  const {
    deleted,
    counted: [attached],
  } = await commitAccess(ctx, makeAffectedEverybody(companyId), {
    deleted: deleteRecord(ctx.db, companyId, id),
    counted: countAttachments(ctx.db, companyId, id),
  });
  if (deleted.length > 0) return;
  throw attached && attached.groups > 0 ? policyInUse(attached.groups) : policyNotFound();
}

async function requireOwnPolicyRecord(ctx: PrincipalContext, id: string): Promise<PolicyRecord> {
  const [record] = await selectPolicy(ctx.db, ctx.actor.companyId, id);
  if (!record) throw policyNotFound();
  return record;
}
