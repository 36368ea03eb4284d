import { createExecutionContext, env, waitOnExecutionContext } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { BASE_URL } from '../support/api.ts';
import { type Company, createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import worker from '../support/worker.ts';

/** Creates an environment that counts all calls out of the isolate. */
function createCountingEnv() {
  const callCounts = { d1: 0, gate: 0, ip: 0 };
  const wrapSession = (innerSession: D1DatabaseSession): D1DatabaseSession =>
    new Proxy(innerSession, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        if (property === 'batch') {
          return (...statements: Parameters<D1DatabaseSession['batch']>) => {
            callCounts.d1 += 1;
            return target.batch(...statements);
          };
        }
        return value.bind(target);
      },
    });
  const countNamespace = <T extends DurableObjectNamespace<never>>(innerNamespace: T, name: 'gate' | 'ip'): T =>
    new Proxy(innerNamespace, {
      get(target, property) {
        const value = Reflect.get(target, property);
        if (property !== 'getByName') return typeof value === 'function' ? value.bind(target) : value;
        return (id: string) => {
          callCounts[name] += 1;
          return (target as unknown as { getByName(id: string): unknown }).getByName(id);
        };
      },
    });
  const database = { withSession: (constraint: string) => wrapSession(env.CONTROL_DB.withSession(constraint)) };
  const bindings = {
    CONTROL_DB: database,
    ORGANIZATION_GATE: countNamespace(env.ORGANIZATION_GATE as never, 'gate'),
    IP_LIMITER: countNamespace(env.IP_LIMITER as never, 'ip'),
  };
  return { counts: callCounts, bindings: bindings as unknown as Record<string, string> };
}

describe('a request, before its handler', () => {
  let company: Company;
  beforeEach(async () => {
    company = await createOwnedCompany();
  });

  // A policy is addressed by its name: most callers may do the same with all of them, and none is looked up.
  it.each(['/v1/managed-tables', `/v1/policies/${'0'.repeat(24)}`])(
    'takes one D1 batch, one call of the company’s Durable Object and one of the IP limiter: %s',
    async (path) => {
      const { counts, bindings } = createCountingEnv();
      // Refused by authorization: everything before the handler has run, and nothing of it.
      const { as } = await createAllowedUser(company, { can: ['users:list'] });
      const { status } = await as.get(path, { env: bindings });
      expect(status).toBe(403);
      expect(counts).toEqual({ d1: 1, gate: 1, ip: 1 });
    },
  );

  it('with an invalid token calls no Durable Object of a company, and is answered before its audit record is sent', async () => {
    const { counts, bindings } = createCountingEnv();
    const auditWritten = Promise.withResolvers<void>();
    const makeLimiter = (name: string) => ({
      take: (limit: number) => {
        counts.ip += 1;
        return env.IP_LIMITER.getByName(name).take(limit);
      },
      countStranger: () => auditWritten.promise,
    });
    const executionContext = createExecutionContext();
    const request = new Request(`${BASE_URL}/v1/managed-tables`, { headers: { authorization: 'Bearer garbage' } });
    const answer = await worker.fetch(
      request,
      { ...env, ...bindings, IP_LIMITER: { getByName: makeLimiter } as unknown as typeof env.IP_LIMITER },
      executionContext,
    );
    expect(answer.status).toBe(401);
    expect(counts).toEqual({ d1: 0, gate: 0, ip: 1 });
    auditWritten.resolve();
    await waitOnExecutionContext(executionContext);
  });
});
