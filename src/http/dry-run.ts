import type { HonoRequest } from 'hono';
import { z } from 'zod';
import { computeAccessChange, MAX_WITNESSES, type PrincipalAccessChange } from '../access/change-of-access.ts';
import type { AffectedPrincipals } from '../access/commit-access.ts';
import { buildNamingQueries, selectBoundPrincipals } from '../access/population.ts';
import type { PrincipalContext } from '../context.ts';
import { runDryRun } from '../db/client.ts';
import type { Contract } from './endpoint.ts';

/** Returns true if a request is a dry run of a change of access. Its query is not validated yet. */
export const isDryRun = (request: HonoRequest, { dryRun }: Contract): boolean =>
  dryRun === true && (request.queries('dry_run') ?? []).includes('true');

/** Schema of a user or service account that may act. */
export const principalView = z
  .object({ type: z.enum(['user', 'service_account']), id: z.string(), name: z.string() })
  .meta({ id: 'ActivePrincipal' });

const witnessView = z.object({
  principal: principalView,
  action: z.string(),
  resource: z.string().meta({ description: 'A shortest of the resources on which it changes.' }),
});

/** Schema of the permissions that a change of access would give and take away. */
export const changeOfAccessView = z
  .object({
    gains: z.array(witnessView).max(MAX_WITNESSES),
    losses: z.array(witnessView).max(MAX_WITNESSES),
    truncated: z.boolean().meta({ description: 'Whether there are more than are listed.' }),
  })
  .meta({ id: 'ChangeOfAccess' });

/** Runs a write, rolls it back, and returns which actions it would give to and take from whom. @throws as it does */
export async function performDryRun(
  ctx: PrincipalContext,
  params: Record<string, string>,
  write: (ctx: PrincipalContext) => Promise<unknown>,
): Promise<PrincipalAccessChange> {
  const { db, actor } = ctx;
  const { companyId } = actor;
  const ids = new Set(Object.values(params));
  for (const { id } of await selectBoundPrincipals(db, companyId, [...ids])) ids.add(id);
  const makeObservedQueries = () => buildNamingQueries(db, companyId, [...ids]);
  const observedQueries = { queries: makeObservedQueries(), rowsBefore: null, rowsAfter: null };
  const changeAccess = <T>({ principals }: AffectedPrincipals, work: () => Promise<T>): Promise<T> => {
    if (principals !== 'everybody') for (const id of principals) ids.add(id);
    observedQueries.queries = makeObservedQueries();
    return work();
  };
  // Nothing is announced, sent or put into a queue.
  const defer = () => {};
  const jobs = { send: async () => {}, sendAll: async () => {} };
  await runDryRun(db, observedQueries, () => write({ ...ctx, changeAccess, defer, jobs }));
  return computeAccessChange(db, actor, ids, observedQueries);
}
