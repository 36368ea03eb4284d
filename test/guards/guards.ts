import type { Guard } from './guard.ts';
import { ACCESS } from './lists/access.ts';
import { ACCOUNTS } from './lists/accounts.ts';
import { COMPANY_EXPORTS } from './lists/company-exports.ts';
import { DATA_API } from './lists/data-api.ts';
import { GROUPS_AND_POLICIES } from './lists/groups.ts';
import { KNOWLEDGE } from './lists/knowledge.ts';
import { OAUTH } from './lists/oauth.ts';
import { OBJECTS } from './lists/objects.ts';
import { ORGANIZATIONS } from './lists/organizations.ts';
import { QUESTIONS } from './lists/questions.ts';
import { REPORTED } from './lists/reported.ts';
import { SCHEDULES } from './lists/schedules.ts';
import { SHARING } from './lists/sharing.ts';
import { SIGN_IN } from './lists/sign-in.ts';
import { SUSPENSION } from './lists/suspension.ts';
import { MANAGED_TABLES } from './lists/tables.ts';
import { USAGE } from './lists/usage.ts';
import { USERS_AND_INVITATIONS } from './lists/users.ts';
import { WEBHOOKS } from './lists/webhooks.ts';

/** Every guard that `npm run test:guards` removes. */
export const GUARDS: readonly Guard[] = [
  ...ACCESS,
  ...ACCOUNTS,
  ...USAGE,
  ...USERS_AND_INVITATIONS,
  ...GROUPS_AND_POLICIES,
  ...SIGN_IN,
  ...OAUTH,
  ...SHARING,
  ...DATA_API,
  ...COMPANY_EXPORTS,
  ...SUSPENSION,
  ...ORGANIZATIONS,
  ...SCHEDULES,
  ...KNOWLEDGE,
  ...QUESTIONS,
  ...MANAGED_TABLES,
  ...WEBHOOKS,
  ...OBJECTS,
  ...REPORTED,
];
