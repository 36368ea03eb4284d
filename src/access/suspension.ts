import { companySuspended } from './failures.ts';

/** Part of a read credential or company that tells whether the company is suspended. */
export interface Suspendable {
  suspendedAt: number | null;
}

/**
 * @param setOwner called before it throws, where the request has no owner yet: its audit record is the company's all the same
 * Throws if the company is suspended; every authentication calls this with rows that were just read. @throws companySuspended */
export function requireActiveCompany({ suspendedAt }: Suspendable, setOwner?: () => void): void {
  if (suspendedAt === null) return;
  setOwner?.();
  throw companySuspended();
}
