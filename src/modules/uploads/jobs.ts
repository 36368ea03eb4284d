import type { CompanyContext, Context } from '../../context.ts';
import { logError } from '../../platform/log.ts';
import { dueDatabases, setSweepAt } from '../managed-database/service.ts';
import { sweepCompany } from './sweep.ts';

export { analyseUpload } from './analyse.ts';
export { loadUpload } from './load.ts';

/** Companies that one scheduled run looks at; the others are due in the next one. */
const COMPANIES_PER_RUN = 50;

/**
 * The scheduled run over the uploads of every company in which something is due. A company that cannot be looked at
 * now stays due and holds up nobody else.
 * @param open makes a context of the company's own; `close` ends it
 */
export async function sweepUploads(
  ctx: Pick<Context, 'db' | 'now'>,
  open: (companyId: string) => { context: CompanyContext; close(): Promise<void> },
): Promise<void> {
  for (const due of await dueDatabases(ctx, COMPANIES_PER_RUN)) {
    const { context, close } = open(due.companyId);
    try {
      await setSweepAt(ctx, due, await sweepCompany(context));
    } catch (error) {
      logError('sweep_failed', error, { company_id: due.companyId });
    } finally {
      await close();
    }
  }
}
