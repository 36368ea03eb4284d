import { companySuspended } from './failures.ts';

/** What a read of a credential, or of a company, tells of whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/** @throws where the company is suspended: each way in asks here, with what it has read for the request at hand */
export function requireActiveCompany({ suspendedAt }: Suspendable): void {
  if (suspendedAt !== null) throw companySuspended();
}
