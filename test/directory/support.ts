import type { Caller } from '../support/api.ts';
import { allow, aServiceAccountThat, must, withSecret } from '../support/signed.ts';
import type { Company } from '../support/worlds.ts';

export const USERS_PATH = '/scim/v2/Users';
export const GROUPS_PATH = '/scim/v2/Groups';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** A directory that may do everything, by a key and its secret. */
export const createDirectory = async (company: Company): Promise<Caller> =>
  withSecret(await aServiceAccountThat(company, allow('*')));

let createdCount = 0;
const nextNumber = (): number => {
  createdCount += 1;
  return createdCount;
};

/** What a directory sends of a new user. */
export const makeUserInput = (differs: Record<string, unknown> = {}) => {
  const number = nextNumber();
  return {
    schemas: [USER_SCHEMA],
    userName: `scim-${number}@example.com`,
    displayName: `Person ${number}`,
    externalId: `external-${number}`,
    active: true,
    ...differs,
  };
};

export const makeGroupInput = (differs: Record<string, unknown> = {}) => ({
  schemas: [GROUP_SCHEMA],
  displayName: `Directory group ${nextNumber()}`,
  ...differs,
});

export const createDirectoryUser = (by: Caller, differs?: Record<string, unknown>) =>
  must(by.post(USERS_PATH, { json: makeUserInput(differs) }));

export const createDirectoryGroup = (by: Caller, differs?: Record<string, unknown>) =>
  must(by.post(GROUPS_PATH, { json: makeGroupInput(differs) }));

/** A PATCH as most directories send it. */
export const makePatch = (...operations: object[]) => ({ json: { schemas: [PATCH_OP], Operations: operations } });

/** What a refusal says: the status, and SCIM's word for it. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
export const readRefusal = ({ status, body }: { status: number; body: any }) => [status, body.scimType];

export const listMemberIds = ({ members }: { members: { value: string }[] }): string[] =>
  members.map(({ value }) => value).toSorted();
