import type { AffectedPrincipals } from '../access/commit-access.ts';
import { type ControlDb, runAccessChange } from '../db/client.ts';
import { accessNotChanged } from '../db/failures.ts';
import { Failure } from '../kernel/failure.ts';
import { withinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';
import { callObject } from '../platform/objects.ts';
import type { AnnouncedChange } from './access-versions.ts';
import type { OrganizationGate } from './organization-gate.ts';

/** The time that the gate has to hear of a change before the change is given up. */
const ANNOUNCE_MS = 5_000;

/**
 * The time after its announcement in which a change may still be applied. The gate takes it to be under way for a minute: the
 * clocks of the database, of the gate and of this isolate may differ by what lies between.
 */
const APPLY_MS = 15_000;

interface AnnounceTables {
  db: ControlDb;
  gates: DurableObjectNamespace<OrganizationGate>;
}

/**
 * Tells the company's gate before access is changed, and after. In between, and until the announcement has run out if this
 * isolate is lost, every request of those it affects reads the control database. A change that cannot be announced is not
 * made.
 */
export async function changeAccess<T>(
  { db, gates }: AnnounceTables,
  { companyId, principals }: AffectedPrincipals,
  work: () => Promise<T>,
): Promise<T> {
  const change: AnnouncedChange = { id: crypto.randomUUID(), affected: principals };
  // Not the clock of the context: the database holds the deadline against its own.
  const deadline = Date.now() + APPLY_MS;
  // Nobody knows those who are only just made.
  if (principals.length === 0) return runAccessChange(db, deadline, work);
  await withinTime(
    ANNOUNCE_MS,
    callObject(gates, companyId, async (gate) => await gate.beginChange(change)),
  ).catch((error) => {
    throw accessNotChanged().because(error);
  });
  // Awaited: if the announcement had run out by a clock that is ahead, this alone tells that access has changed.
  const end = () =>
    callObject(gates, companyId, async (gate) => await gate.endChange(change)).catch((error) =>
      logError('access_change_not_ended', error, { company_id: companyId }),
    );
  try {
    const result = await runAccessChange(db, deadline, work);
    await end();
    return result;
  } catch (error) {
    // After any other error nobody knows whether the change is still on its way: the announcement runs out.
    if (error instanceof Failure) await end();
    throw error;
  }
}
