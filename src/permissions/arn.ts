import type { Action, ResourceType } from './actions.ts';
import { actionEntry } from './actions.ts';

/**
 * The ARN on which `action` is checked: `arn:svc:{service}::{company_id}:{type}/{id}`.
 * `id` is `*` for listing and creating. `type` is needed only where a service has several (`ontology`); the default is its
 * first. For policies use `policyArn`, whose ids are names.
 */
export function resourceArn<A extends Action>(action: A, companyId: string, id = '*', type?: ResourceType<A>): string {
  const { arnService, types } = actionEntry(action);
  return arn(arnService, companyId, type ?? types[0], id);
}

/** The origin of a policy: `inline` ones are a company's own, the others come with the system. */
export type PolicyType = 'system' | 'managed' | 'inline';

/** The ARN of a policy, `arn:svc:iam::{company_id}:policy/{type}/{name}`; the system's have no company. */
export const policyArn = (companyId: string | null, type: PolicyType, name: string): string =>
  arn('iam', companyId ?? '', 'policy', `${type}/${name}`);

/** An ARN from its segments. */
export const arn = (service: string, companyId: string, type: string, id: string): string =>
  `arn:svc:${service}::${companyId}:${type}/${id}`;
