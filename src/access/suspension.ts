import { companySuspended } from './failures.ts';

/** Part of a stored credential or company that says whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/**
 * Throws if the company is suspended. Every authentication calls this with rows that were just read.
 * @param setOwner called before the failure is thrown, for a request without an owner: its audit record then belongs to
 * the company
 * @throws companySuspended
 */
export function requireActiveCompany({ suspendedAt }: Suspendable, setOwner?: () => void): void {
  if (suspendedAt === null) return;
  setOwner?.();
  throw companySuspended();
}
