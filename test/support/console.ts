import type { Role } from '../../src/permissions/legacy.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import type { ApiResponse } from './api.ts';
import { must } from './signed.ts';
import type { Company } from './worlds.ts';

let createdCount = 0;

/** What a group is made of on the console, valid unless said otherwise. */
export const makeGroupInput = (rest: Record<string, unknown> = {}) => {
  createdCount += 1;
  return {
    name: `Group of the console ${createdCount}`,
    slug: `console-group-${createdCount}`,
    description: 'A group of the tests.',
    ...rest,
  };
};

/** What a legacy permission of a company is made of. */
export const makePermissionInput = (company: Company, rest: Record<string, unknown> = {}) => ({
  name: 'Permission',
  description: 'A permission of the tests.',
  target: { company_id: company.id, service_name: 'users' },
  actions: ['read'],
  ...rest,
});

export const makePolicyInput = (statements: PolicyStatement[], rest: Record<string, unknown> = {}) => {
  createdCount += 1;
  return { name: `Policy of the console ${createdCount}`, document: { version: '2024-01-01', statements }, ...rest };
};

/** A group made by the owner. @returns as the console shows it */
export const createConsoleGroup = (
  company: Company,
  rest: { roles?: Role[]; permissionIds?: string[] } = {},
): Promise<ApiResponse['body']> => must(company.as.post('/v1/groups', { json: makeGroupInput(rest) }));

/** A legacy permission made by the owner. @returns its id */
export const createPermission = async (company: Company, rest: Record<string, unknown> = {}): Promise<string> =>
  (await must(company.as.post('/v1/permissions', { json: makePermissionInput(company, rest) })))._id;

/** Puts a user into groups, by the owner. */
export const addToGroups = (company: Company, userId: string, ...groupIds: string[]): Promise<ApiResponse['body']> =>
  must(company.as.post(`/v1/users/${userId}/groups`, { json: { group_ids: groupIds } }));

/** The global groups of a company. */
export async function readGlobalGroups(company: Company): Promise<{ administrators: string; viewers: string }> {
  const { records } = await must(company.as.get('/v1/groups?per_page=100'));
  const idOf = (name: string): string => records.find((group: { name: string }) => group.name === name)._id;
  return { administrators: idOf('administrators'), viewers: idOf('viewers') };
}

export const readStatusAndCode = ({ status, body }: ApiResponse) => [status, body.error];

/** The fields that a 422 names. */
export const readInvalidFields = ({ status, body }: ApiResponse): unknown[] => [
  status,
  body.error,
  ...(body.details as { field: string }[]).map(({ field }) => field),
];

/** An id that nothing has. */
export const UNKNOWN_ID = '0'.repeat(24);
