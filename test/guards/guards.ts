import type { Guard } from './guard.ts';
import { ACCESS_GUARDS } from './lists/access.ts';
import { ACCOUNT_GUARDS } from './lists/accounts.ts';
import { COMPANY_EXPORT_GUARDS } from './lists/company-exports.ts';
import { DATA_API_GUARDS } from './lists/data-api.ts';
import { GROUP_AND_POLICY_GUARDS } from './lists/groups.ts';
import { KNOWLEDGE_GUARDS } from './lists/knowledge.ts';
import { OAUTH_GUARDS } from './lists/oauth.ts';
import { OBJECT_GUARDS } from './lists/objects.ts';
import { ORGANIZATION_GUARDS } from './lists/organizations.ts';
import { QUESTION_GUARDS } from './lists/questions.ts';
import { BUG_FIX_GUARDS } from './lists/reported.ts';
import { SCHEDULE_GUARDS } from './lists/schedules.ts';
import { SHARING_GUARDS } from './lists/sharing.ts';
import { SIGN_IN_GUARDS } from './lists/sign-in.ts';
import { SUSPENSION_GUARDS } from './lists/suspension.ts';
import { MANAGED_TABLE_GUARDS } from './lists/tables.ts';
import { USAGE_GUARDS } from './lists/usage.ts';
import { USER_AND_INVITATION_GUARDS } from './lists/users.ts';
import { WEBHOOK_GUARDS } from './lists/webhooks.ts';

/** Every guard that `npm run test:guards` removes. */
export const GUARDS: readonly Guard[] = [
  ...ACCESS_GUARDS,
  ...ACCOUNT_GUARDS,
  ...USAGE_GUARDS,
  ...USER_AND_INVITATION_GUARDS,
  ...GROUP_AND_POLICY_GUARDS,
  ...SIGN_IN_GUARDS,
  ...OAUTH_GUARDS,
  ...SHARING_GUARDS,
  ...DATA_API_GUARDS,
  ...COMPANY_EXPORT_GUARDS,
  ...SUSPENSION_GUARDS,
  ...ORGANIZATION_GUARDS,
  ...SCHEDULE_GUARDS,
  ...KNOWLEDGE_GUARDS,
  ...QUESTION_GUARDS,
  ...MANAGED_TABLE_GUARDS,
  ...WEBHOOK_GUARDS,
  ...OBJECT_GUARDS,
  ...BUG_FIX_GUARDS,
];
