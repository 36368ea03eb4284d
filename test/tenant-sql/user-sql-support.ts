import { expect } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { TenantSql } from '../../src/tenant-sql/client.ts';
import { runUserSql, STANDARD_LIMITS, type UserSqlLimits } from '../../src/tenant-sql/user-sql.ts';
import { createTenant } from '../support/tenant.ts';

/** Creates a company's Postgres with a table of users, a deleted table and a table of the service. Callers close its owner. */
export async function createTenantWithTables() {
  const companyId = newId(Date.now());
  const tenant = await createTenant(companyId);
  const owner: TenantSql = tenant.openOwnerSql();
  await owner.query('CREATE TABLE public.sales (n integer); INSERT INTO public.sales VALUES (1), (2), (3)');
  await owner.query('CREATE TABLE public.gone (n integer); ALTER TABLE public.gone SET SCHEMA trash');
  await owner.query('CREATE TABLE console.secret (n integer); INSERT INTO console.secret VALUES (42)');

  async function runSql(text: string, values: (string | null)[] = [], limits: Partial<UserSqlLimits> = {}) {
    const reader = tenant.openReaderSql();
    try {
      return await runUserSql(reader, { text, values }, { ...STANDARD_LIMITS, ...limits });
    } finally {
      await reader.close();
    }
  }

  /** Returns the failure of a statement that must fail as a domain failure, never as an internal error. */
  async function readFailure(text: string, limits: Partial<UserSqlLimits> = {}): Promise<Failure> {
    const outcome = await runSql(text, [], limits).catch((error: unknown) => error);
    expect(outcome, text).toBeInstanceOf(Failure);
    return outcome as Failure;
  }

  return { companyId, tenant, owner, run: runSql, failureOf: readFailure };
}
