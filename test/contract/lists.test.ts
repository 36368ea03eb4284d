import { describe, expect, it } from 'vitest';
import type { ZodObject } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import type { Caller } from '../support/api.ts';
import { createAllowedUser, createProvisionedCompany } from '../support/companies.ts';
import { createAllowedAccount, expectSuccess, makeAllow } from '../support/signed.ts';
import { LISTS, LISTS_WITHOUT_DENIALS, type ListCase } from './lists.ts';

const isList = ({ method, returns }: Contract): boolean => {
  const shape = 'body' in returns ? (returns.body as ZodObject).shape : undefined;
  return method === 'get' && shape !== undefined && ('records' in shape || 'results' in shape);
};

const company = await createProvisionedCompany();

/** Creates a user or service account that may do everything except one action on some resources. */
async function createDeniedUser({ isSigned }: ListCase, deniedAction: string, resource: string): Promise<Caller> {
  if (!isSigned)
    return (await createAllowedUser(company, { can: ['*'], denied: [deniedAction], deniedArns: [resource] })).as;
  const deny = { effect: 'Deny' as const, actions: [deniedAction], resources: [resource] };
  return (await createAllowedAccount(company, makeAllow('*'), deny)).as;
}

async function listRecords(
  as: Caller,
  path: string,
  { isSigned }: ListCase,
): Promise<{ total?: number; ids: string[] }> {
  const size = isSigned ? 'quantity' : 'per_page';
  const isPaged = !path.endsWith('/active');
  const { total, records, results } = await expectSuccess(
    as.get(isPaged ? `${path}${path.includes('?') ? '&' : '?'}${size}=100` : path),
  );
  const ids = (records ?? results).map(
    (eachRecord: Record<string, string>) => eachRecord.id ?? eachRecord._id ?? eachRecord.principal_id,
  );
  return { ...(isPaged && { total }), ids };
}

describe('a list', () => {
  it('has an entry in these tests that says how a Deny applies to it, on every route', () => {
    const paths = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract).filter(isList));
    const coveredPaths = new Set(
      [...Object.keys(LISTS), ...Object.keys(LISTS_WITHOUT_DENIALS)].map((path) => path.split('?')[0]),
    );
    expect(paths.map(({ path }) => path).filter((path) => !coveredPaths.has(path))).toEqual([]);
    expect([...coveredPaths].filter((path) => !paths.some((contract) => contract.path === path))).toEqual([]);
  });

  const cases = Object.entries(LISTS).flatMap(([path, each]) =>
    each.hidingActions.map((action) => [path, action, each] as const),
  );
  it.each(cases)(
    'at %s omits each record on which %s is denied, also in its total',
    async (route, action, listCase) => {
      const { id, arn: resource, path = route } = await listCase.createRecord(company);
      const patterns = [resource, `${resource.slice(0, -6)}*${resource.slice(-5)}`];
      for (const pattern of patterns) {
        const as = await createDeniedUser(listCase, action, pattern);
        const allRecords = await listRecords(await createFullReader(listCase), path, listCase);
        const visibleRecords = await listRecords(as, path, listCase);
        expect(allRecords.ids).toContain(id);
        expect(visibleRecords.ids).toEqual(allRecords.ids.filter((eachId) => eachId !== id));
        if (allRecords.total !== undefined) expect(visibleRecords.total).toBe(allRecords.total - 1);
      }
    },
  );
});

/** Creates a caller who sees every record that exists at the moment. */
const createFullReader = async ({ isSigned }: ListCase): Promise<Caller> =>
  isSigned ? (await createAllowedAccount(company, makeAllow('*'))).as : company.as;
