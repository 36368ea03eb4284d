import { companySuspended } from './failures.ts';

/** The part of a read credential or company that tells whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/** @throws where the company is suspended: each way of authentication asks here, with rows just read */
export function requireActiveCompany({ suspendedAt }: Suspendable): void {
  if (suspendedAt !== null) throw companySuspended();
}
