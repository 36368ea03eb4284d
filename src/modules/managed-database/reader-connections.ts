import type { CompanyContext } from '../../context.ts';
import { Semaphore } from '../../platform/semaphore.ts';

/**
 * An isolate's connections to one company under the reader's login, which has forty: a burst waits in the isolate, where
 * it costs nothing, instead of failing at the database. Viewers have at most 24 (see `ViewerGate`).
 */
const READER_CONNECTION_LIMITS = { permits: 36, maxWaiting: 1_000, waitMs: 15_000, holdMs: 60_000 };

const byCompany = new Map<string, Semaphore>();

export function readerConnections({ actor: { companyId } }: CompanyContext): Semaphore {
  for (const [id, semaphore] of byCompany) if (semaphore.isIdle) byCompany.delete(id);
  let semaphore = byCompany.get(companyId);
  if (!semaphore) {
    semaphore = new Semaphore(READER_CONNECTION_LIMITS);
    byCompany.set(companyId, semaphore);
  }
  return semaphore;
}
