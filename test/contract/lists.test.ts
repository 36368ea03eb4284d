import { beforeAll, describe, expect, it } from 'vitest';
import type { ZodObject } from 'zod';
import { SURFACES } from '../../src/app.ts';
import type { Contract } from '../../src/http/endpoint.ts';
import type { Caller } from '../support/api.ts';
import { allow, aServiceAccountThat, must } from '../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../support/worlds.ts';
import { type Case, LISTS, LISTS_WITHOUT_DENIALS } from './lists.ts';

const isList = ({ method, returns }: Contract): boolean => {
  const shape = 'body' in returns ? (returns.body as ZodObject).shape : undefined;
  return method === 'get' && shape !== undefined && ('records' in shape || 'results' in shape);
};

let company: Company;
beforeAll(async () => {
  company = await aProvisionedCompany();
});

/** Somebody who may do everything, but is denied an action on some resources. */
async function createDeniedUser({ signed }: Case, denied: string, resource: string): Promise<Caller> {
  if (!signed) return (await aUser(company, { can: ['*'], denied: [denied], deniedOn: [resource] })).as;
  const deny = { effect: 'Deny' as const, actions: [denied], resources: [resource] };
  return (await aServiceAccountThat(company, allow('*'), deny)).as;
}

async function listRecords(as: Caller, path: string, { signed }: Case): Promise<{ total?: number; ids: string[] }> {
  const size = signed ? 'quantity' : 'per_page';
  const isPaged = !path.endsWith('/active');
  const { total, records, results } = await must(
    as.get(isPaged ? `${path}${path.includes('?') ? '&' : '?'}${size}=100` : path),
  );
  const ids = (records ?? results).map((shown: Record<string, string>) => shown.id ?? shown._id ?? shown.principal_id);
  return { ...(isPaged && { total }), ids };
}

describe('a list', () => {
  it('has an entry in these tests that says how a Deny applies to it, on every route', () => {
    const paths = SURFACES.flatMap(({ endpoints }) => endpoints.map(({ contract }) => contract).filter(isList));
    const told = new Set(
      [...Object.keys(LISTS), ...Object.keys(LISTS_WITHOUT_DENIALS)].map((path) => path.split('?')[0]),
    );
    expect(paths.map(({ path }) => path).filter((path) => !told.has(path))).toEqual([]);
    expect([...told].filter((path) => !paths.some((contract) => contract.path === path))).toEqual([]);
  });

  const cases = Object.entries(LISTS).flatMap(([path, each]) =>
    each.denied.map((action) => [path, action, each] as const),
  );
  it.each(cases)('at %s omits each record on which %s is denied, also in its total', async (route, action, each) => {
    const { id, arn: resource, path = route } = await each.make(company);
    const patterns = [resource, `${resource.slice(0, -6)}*${resource.slice(-5)}`];
    for (const pattern of patterns) {
      const as = await createDeniedUser(each, action, pattern);
      const all = await listRecords(await listAllRecords(each), path, each);
      const seen = await listRecords(as, path, each);
      expect(all.ids).toContain(id);
      expect(seen.ids).toEqual(all.ids.filter((one) => one !== id));
      if (all.total !== undefined) expect(seen.total).toBe(all.total - 1);
    }
  });
});

/** Somebody who sees everything there is now. */
const listAllRecords = async ({ signed }: Case): Promise<Caller> =>
  signed ? (await aServiceAccountThat(company, allow('*'))).as : company.as;
