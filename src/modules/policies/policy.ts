import type { policies } from '../../db/schema/policies.ts';
import { makePolicyArn, type PolicyType } from '../../permissions/arn.ts';
import { MANAGED_POLICIES } from '../../permissions/managed-policies.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';

/** A managed policy or a company's own policy, as the API shows it. Times in milliseconds. */
export interface Policy {
  id: string;
  arn: string;
  name: string;
  description: string;
  type: PolicyType;
  document: PolicyDocument;
  createdAt: number;
  updatedAt: number;
}

/** The date of the managed policies: they are as old as the policy language. */
const MANAGED_POLICIES_CREATED_AT = Date.UTC(2024, 0, 1);

/** The managed policies, in the order of the list. */
export const SYSTEM_POLICIES: readonly Policy[] = MANAGED_POLICIES.map((policy) => ({
  ...policy,
  type: 'managed',
  createdAt: MANAGED_POLICIES_CREATED_AT,
  updatedAt: MANAGED_POLICIES_CREATED_AT,
}));

const SYSTEM_POLICY_BY_ID = new Map(SYSTEM_POLICIES.map((policy) => [policy.id, policy]));
const SYSTEM_POLICY_NAMES = new Set(SYSTEM_POLICIES.map(({ name }) => name));

/** Returns the managed policy of an id. */
export const findManagedPolicy = (id: string): Policy | undefined => SYSTEM_POLICY_BY_ID.get(id);

/** Tells whether a managed policy has this name: every company has them, so no own policy may have it. */
export const isManagedPolicyName = (name: string): boolean => SYSTEM_POLICY_NAMES.has(name);

/** Converts a record to a company's own policy. */
export const toOwnPolicy = (record: typeof policies.$inferSelect): Policy => ({
  ...record,
  type: 'inline',
  arn: makePolicyArn(record.companyId, 'inline', record.name),
});
