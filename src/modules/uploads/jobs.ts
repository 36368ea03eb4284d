import type { CompanyContext, Context } from '../../context.ts';
import { runConcurrently } from '../../platform/concurrency.ts';
import { claimDueDatabases, finishSweep } from '../managed-database/service.ts';
import { sweepCompany } from './sweep.ts';

export { analyseUpload } from './analyse.ts';
export { loadUpload } from './load.ts';

/** The maximum number of companies that one scheduled run sweeps; the other due companies wait for the next run. */
const COMPANIES_PER_RUN = 50;
/** The limits of sweeps: five at a time, as a Worker has at most six connections open. */
const SWEEP_LIMITS = { concurrency: 5, timeoutMs: 20_000, failureEvent: 'sweep_failed' };

/**
 * Sweeps the uploads of every company that is due, several at the same time. A company whose sweep fails stays due and delays no
 * other one. @param openCompany makes a context for a company; `close` ends it
 */
export async function sweepUploads(
  ctx: Pick<Context, 'db' | 'now'>,
  openCompany: (companyId: string) => { context: CompanyContext; close(): Promise<void> },
): Promise<void> {
  const dueCompanies = await claimDueDatabases(ctx, COMPANIES_PER_RUN);
  const openedContexts = new Map(dueCompanies.map(({ companyId }) => [companyId, openCompany(companyId)]));
  try {
    await runConcurrently(
      dueCompanies,
      SWEEP_LIMITS,
      ({ companyId }) => ({ company_id: companyId }),
      async (dueCompany) => {
        const { context, close } = openedContexts.get(dueCompany.companyId) as ReturnType<typeof openCompany>;
        try {
          const { nextSweepAt, sizes } = await sweepCompany(context);
          await finishSweep(ctx.db, dueCompany, nextSweepAt, sizes);
        } finally {
          await close();
        }
      },
    );
  } finally {
    // Also those whose sweep took too long.
    await Promise.all([...openedContexts.values()].map(({ close }) => close()));
  }
}
