import type { CompanyContext, Context } from '../../context.ts';
import { runConcurrently } from '../../platform/concurrency.ts';
import { claimDueDatabases, finishSweep } from '../managed-database/service.ts';
import { sweepCompany } from './sweep.ts';

export { analyseUpload } from './analyse.ts';
export { loadUpload } from './load.ts';

/** The maximum number of companies that one scheduled run sweeps; the others are still due in the next one. */
const COMPANIES_PER_RUN = 50;
/** The limits of sweeps: five at a time, as a Worker has at most six connections open. */
const SWEEP_LIMITS = { concurrency: 5, timeoutMs: 20_000, failureEvent: 'sweep_failed' };

/**
 * Sweeps the uploads of every company that is due, side by side. A company whose sweep fails stays due and holds up no
 * other one.
 * @param open makes a context for a company; `close` ends it
 */
export async function sweepUploads(
  ctx: Pick<Context, 'db' | 'now'>,
  open: (companyId: string) => { context: CompanyContext; close(): Promise<void> },
): Promise<void> {
  const due = await claimDueDatabases(ctx, COMPANIES_PER_RUN);
  const opened = new Map(due.map(({ companyId }) => [companyId, open(companyId)]));
  try {
    await runConcurrently(
      due,
      SWEEP_LIMITS,
      ({ companyId }) => ({ company_id: companyId }),
      async (claimed) => {
        const { context, close } = opened.get(claimed.companyId) as ReturnType<typeof open>;
        try {
          const { next, sizes } = await sweepCompany(context);
          await finishSweep(ctx, claimed, next, sizes);
        } finally {
          await close();
        }
      },
    );
  } finally {
    // Also those whose sweep took too long.
    await Promise.all([...opened.values()].map(({ close }) => close()));
  }
}
