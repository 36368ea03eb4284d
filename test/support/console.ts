import type { GroupRole } from '../../src/permissions/legacy.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse } from './api.ts';
import type { Company } from './companies.ts';
import { expectSuccess } from './signed.ts';

let createdCount = 0;

/** Returns the input of a console group, valid unless overridden. */
export const makeGroupInput = (overrides: Record<string, unknown> = {}) => {
  createdCount += 1;
  return {
    name: `Group of the console ${createdCount}`,
    slug: `console-group-${createdCount}`,
    description: 'A group of the tests.',
    ...overrides,
  };
};

/** Returns the input of a company's legacy permission, valid unless overridden. */
export const makePermissionInput = (company: Company, overrides: Record<string, unknown> = {}) => ({
  name: 'Permission',
  description: 'A permission of the tests.',
  target: { company_id: company.id, service_name: 'users' },
  actions: ['read'],
  ...overrides,
});

export const makePolicyInput = (statements: PolicyStatement[], overrides: Record<string, unknown> = {}) => {
  createdCount += 1;
  return {
    name: `Policy of the console ${createdCount}`,
    document: { version: '2024-01-01', statements },
    ...overrides,
  };
};

/** Creates a group on behalf of the owner. @returns the group as the console shows it */
export const createConsoleGroup = (
  company: Company,
  grants: { roles?: GroupRole[]; permissionIds?: string[] } = {},
): Promise<ApiResponse['body']> => expectSuccess(company.as.post('/v1/groups', { json: makeGroupInput(grants) }));

/** Creates a legacy permission on behalf of the owner. @returns its id */
export const createPermission = async (company: Company, overrides: Record<string, unknown> = {}): Promise<string> =>
  (await expectSuccess(company.as.post('/v1/permissions', { json: makePermissionInput(company, overrides) })))._id;

/** Adds a user to groups, on behalf of the owner. */
export const addToGroups = (company: Company, userId: string, ...groupIds: string[]): Promise<ApiResponse['body']> =>
  expectSuccess(company.as.post(`/v1/users/${userId}/groups`, { json: { group_ids: groupIds } }));

/** Reads the ids of a company's global groups. */
export async function readGlobalGroups(company: Company): Promise<{ administrators: string; viewers: string }> {
  const { records } = await expectSuccess(company.as.get('/v1/groups?per_page=100'));
  const findId = (name: string): string => records.find((group: { name: string }) => group.name === name)._id;
  return { administrators: findId('administrators'), viewers: findId('viewers') };
}

export const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error];

/** Returns the fields that a 422 response names. */
export const readInvalidFields = ({ status, body }: ApiResponse): unknown[] => [
  status,
  body.error,
  ...(body.details as { field: string }[]).map(({ field }) => field),
];

/** An id that no record has. */
export const UNKNOWN_ID = '0'.repeat(24);
