import type { CompanyContext } from '../../context.ts';
import { Semaphore } from '../../platform/semaphore.ts';

/**
 * The limits of an isolate's connections to one company under the reader's login, which has forty: a burst waits in the isolate,
 * where it costs nothing, instead of failing at the database. Viewers have at most 24 (see `ViewerGate`).
 */
const READER_CONNECTION_LIMITS = { permitCount: 36, maxWaiting: 1_000, waitMs: 15_000, holdMs: 60_000 };

const semaphoreByCompany = new Map<string, Semaphore>();

export function getReaderConnections({ actor: { companyId } }: CompanyContext): Semaphore {
  for (const [id, semaphore] of semaphoreByCompany) if (semaphore.isIdle) semaphoreByCompany.delete(id);
  let semaphore = semaphoreByCompany.get(companyId);
  if (!semaphore) {
    semaphore = new Semaphore(READER_CONNECTION_LIMITS);
    semaphoreByCompany.set(companyId, semaphore);
  }
  return semaphore;
}
