import type { policies } from '../../db/schema/policies.ts';
import { type PolicyType, policyArn } from '../../permissions/arn.ts';
import { MANAGED_POLICIES, type ManagedPolicy } from '../../permissions/managed-policies.ts';
import type { PolicyDocument } from '../../permissions/policy-document.ts';

/** A policy as people see it, whether the system's or a company's own. Times in milliseconds. */
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

/** When the managed policies were written: they are as old as the policy language. */
const MANAGED_SINCE = Date.UTC(2024, 0, 1);

const convertManagedPolicy = (policy: ManagedPolicy): Policy => ({
  ...policy,
  type: 'managed',
  createdAt: MANAGED_SINCE,
  updatedAt: MANAGED_SINCE,
});

/** The managed policies, in the order in which they are listed. */
export const SYSTEM_POLICIES: readonly Policy[] = MANAGED_POLICIES.map(convertManagedPolicy);

const SYSTEM_POLICY_BY_ID = new Map(SYSTEM_POLICIES.map((policy) => [policy.id, policy]));
const SYSTEM_POLICY_NAMES = new Set(SYSTEM_POLICIES.map(({ name }) => name));

/** The managed policy of an id. */
export const findManagedPolicy = (id: string): Policy | undefined => SYSTEM_POLICY_BY_ID.get(id);

/** Whether a managed policy has this name: every company has them, so no policy of its own can. */
export const isSystemName = (name: string): boolean => SYSTEM_POLICY_NAMES.has(name);

/** A policy of a company's own. */
export const toOwnPolicy = (record: typeof policies.$inferSelect): Policy => ({
  ...record,
  type: 'inline',
  arn: policyArn(record.companyId, 'inline', record.name),
});
