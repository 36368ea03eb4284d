import { z } from 'zod';
import type { Principal } from '../../access/actors.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import { type Action, ALL_ACTIONS } from '../../permissions/actions.ts';
import {
  findDocumentProblems,
  POLICY_LIMITS,
  POLICY_VERSION,
  type PolicyDocument,
} from '../../permissions/policy-document.ts';
import type { CallerAccess } from './explanation.ts';
import type { Policy } from './policy.ts';

/** The schema of a policy document in responses. */
const policyDocumentView = z
  .object({
    version: z.literal(POLICY_VERSION),
    statements: z.array(
      z.object({
        sid: z.string().optional(),
        effect: z.enum(['Allow', 'Deny']),
        actions: z.array(z.string()).meta({ examples: [['users:list', 'users:*', '*']] }),
        resources: z.array(z.string()).meta({ description: 'Patterns over resource ARNs, or `*`.' }),
      }),
    ),
  })
  .meta({ id: 'PolicyDocument' });

/** The schema of a policy document in requests: checked by the policy language itself. */
export const policyDocumentInput = z
  .unknown()
  .superRefine((document, context) => {
    for (const { field, message } of findDocumentProblems(document)) {
      context.addIssue({ code: 'custom', path: field.split('.').slice(1), message });
    }
  })
  .meta({
    description: `Version ${POLICY_VERSION}; at most ${POLICY_LIMITS.bytes / 1024} KiB of JSON and ${POLICY_LIMITS.statements} statements. Actions are patterns over those that \`GET /v1/policies/actions\` lists; a pattern that matches none is refused.`,
    override: { $ref: '#/components/schemas/PolicyDocument' },
  }) as z.ZodType<PolicyDocument>;

/** The schema of the action in an access check. */
export const actionInput = z.enum(ALL_ACTIONS as [Action, ...Action[]], {
  error: 'must be an action that GET /v1/policies/actions lists',
});

/** The schema of the resource in an access check. */
export const resourceInput = z
  .string()
  .max(POLICY_LIMITS.pattern)
  .regex(/^(\*|arn:svc:[^\n]*)$/, 'must be one resource ARN (arn:svc:…), or "*"');

/** The response with the rule that decides. */
export const decisionView = z
  .object({
    kind: z.enum(['owner', 'deny', 'allow', 'legacy', 'none']),
    policy_id: z.string().nullable(),
    sid: z.string().nullable(),
    group_id: z.string().nullable(),
  })
  .meta({
    description:
      'What decides: `owner`: the user owns the company; `deny`, `allow`: a statement of a policy; `legacy`: a role or permission of a group; `none`: nothing allows or denies it. A policy or group that the caller may not see is null.',
  });

/** The response with a policy on the console. */
export const policyView = z
  .object({
    _id: z.string(),
    arn: z.string().meta({ examples: ['arn:svc:iam:::policy/managed/ReadOnly'] }),
    name: z.string(),
    description: z.string(),
    type: z
      .enum(['system', 'managed', 'inline'])
      .meta({ description: '`managed`: given to every company, and cannot be changed; `inline`: the company’s own.' }),
    document: policyDocumentView,
    is_deprecated: z.boolean(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Policy' });

const viewPolicyRecord = makeView(policyView);
export const viewPolicy = (policy: Policy) => viewPolicyRecord({ ...policy, isDeprecated: false });

/** The response with a policy that applies to the caller. */
const appliedPolicyView = z.object({
  _id: z.string(),
  arn: z.string(),
  name: z.string(),
  type: z.enum(['managed', 'inline']),
  group_ids: z.array(z.string()).meta({ description: 'The groups through which the caller has it.' }),
});

const viewAppliedPolicy = makeView(appliedPolicyView);

/** The response with the caller's permissions. */
export const ownPermissionsView = z
  .object({
    user_id: z.string(),
    company_id: z.string(),
    is_owner: z.boolean(),
    policies: z.array(appliedPolicyView),
    actions: z.array(z.string()).meta({ description: 'Every action allowed on all resources at once.' }),
  })
  .meta({ id: 'OwnPermissions' });

export const viewOwnPermissions = (
  { id, companyId, access }: Principal,
  { policies, actions }: CallerAccess,
): z.input<typeof ownPermissionsView> => ({
  user_id: id,
  company_id: companyId,
  is_owner: access.isOwner,
  policies: policies.map(viewAppliedPolicy),
  actions,
});
