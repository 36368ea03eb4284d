import { type Action, getActionEntry, type ResourceType } from './actions.ts';

/**
 * Makes the ARN on which `action` is checked: `arn:svc:{service}::{company_id}:{type}/{id}`. `id` is `*` for listing and
 * creating. `type` is needed only where a service has several (`ontology`); the default is its first. For policies use
 * `makePolicyArn`, whose ids are names.
 */
export function makeResourceArn<A extends Action>(
  action: A,
  companyId: string,
  id = '*',
  type?: ResourceType<A>,
): string {
  const { arnService, types } = getActionEntry(action);
  return makeArn(arnService, companyId, type ?? types[0], id);
}

/** The origin of a policy: `inline` policies are a company's own, the others come with the system. */
export type PolicyType = 'system' | 'managed' | 'inline';

/** Makes the ARN of a policy, `arn:svc:iam::{company_id}:policy/{type}/{name}`; ARNs of the system's policies have no company. */
export const makePolicyArn = (companyId: string | null, type: PolicyType, name: string): string =>
  makeArn('iam', companyId ?? '', 'policy', `${type}/${name}`);

/** Makes an ARN from its segments. */
export const makeArn = (service: string, companyId: string, type: string, id: string): string =>
  `arn:svc:${service}::${companyId}:${type}/${id}`;
