import { companySuspended } from './failures.ts';

/** Part of a read credential or company that tells whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/** Throws if the company is suspended; every authentication calls this with rows that were just read. @throws companySuspended */
export function requireActiveCompany({ suspendedAt }: Suspendable): void {
  if (suspendedAt !== null) throw companySuspended();
}
