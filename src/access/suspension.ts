import { companySuspended } from './failures.ts';

/** The part of a read credential or company that tells whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/**
 * @param setOwner called before it throws, where the request has no owner yet: its audit record is the company's all the same
 * @throws where the company is suspended: each way of authentication asks here, with rows just read
 */
export function requireActiveCompany({ suspendedAt }: Suspendable, setOwner?: () => void): void {
  if (suspendedAt === null) return;
  setOwner?.();
  throw companySuspended();
}
