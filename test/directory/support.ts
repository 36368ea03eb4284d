import type { Caller } from '../support/api.ts';
import type { Company } from '../support/companies.ts';
import { createAllowedAccount, createSecretCaller, expectSuccess, makeAllow } from '../support/signed.ts';

export const USERS_PATH = '/scim/v2/Users';
export const GROUPS_PATH = '/scim/v2/Groups';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

/** Creates a SCIM client that may do everything, and sends its key and secret. */
export const createDirectory = async (company: Company): Promise<Caller> =>
  createSecretCaller(await createAllowedAccount(company, makeAllow('*')));

let createdCount = 0;
const makeUniqueNumber = (): number => {
  return ++createdCount;
};

/** Makes the body with which a SCIM client creates a user. */
export const makeUserInput = (overrides: Record<string, unknown> = {}) => {
  const number = makeUniqueNumber();
  return {
    schemas: [USER_SCHEMA],
    userName: `scim-${number}@example.com`,
    displayName: `Person ${number}`,
    externalId: `external-${number}`,
    active: true,
    ...overrides,
  };
};

export const makeGroupInput = (overrides: Record<string, unknown> = {}) => ({
  schemas: [GROUP_SCHEMA],
  displayName: `Directory group ${makeUniqueNumber()}`,
  ...overrides,
});

export const createDirectoryUser = (by: Caller, overrides?: Record<string, unknown>) =>
  expectSuccess(by.post(USERS_PATH, { json: makeUserInput(overrides) }));

export const createDirectoryGroup = (by: Caller, overrides?: Record<string, unknown>) =>
  expectSuccess(by.post(GROUPS_PATH, { json: makeGroupInput(overrides) }));

/** Makes a PATCH request in the form that most SCIM clients send. */
export const makePatch = (...operations: object[]) => ({ json: { schemas: [PATCH_OP], Operations: operations } });

/** Returns the status and the SCIM error type of a refusal. */
// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
export const readRefusal = ({ status, body }: { status: number; body: any }) => [status, body.scimType];

export const listMemberIds = ({ members }: { members: { value: string }[] }): string[] =>
  members.map(({ value }) => value).toSorted();
