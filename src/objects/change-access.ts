import type { AffectedPrincipals } from '../access/commit-access.ts';
import { type ControlDb, runAccessChange } from '../db/client.ts';
import { accessNotChanged } from '../db/failures.ts';
import { Failure } from '../kernel/failure.ts';
import { awaitWithinTime } from '../kernel/time-limit.ts';
import { logError } from '../platform/log.ts';
import { callObject } from '../platform/objects.ts';
import type { AnnouncedChange } from './access-versions.ts';
import type { OrganizationGate } from './organization-gate.ts';

/** The time within which the gate must confirm the announcement of a change, else the change is not made. */
const MAX_ANNOUNCE_MS = 5_000;

/**
 * The time after its announcement in which a change may still be applied. The gate counts it as in progress for a minute: the
 * clocks of the database, of the gate and of this isolate may differ by the time between the two.
 */
const MAX_APPLY_MS = 15_000;

interface AnnounceTables {
  db: ControlDb;
  gates: DurableObjectNamespace<OrganizationGate>;
}

/**
 * Announces a change of access to the company's gate before it is made, and its end. In between, and until the announcement
 * expires if this isolate is lost, every request of the affected principals reads the control database. A change that cannot be
 * announced is not made.
 */
export async function changeAccess<T>(
  { db, gates }: AnnounceTables,
  { companyId, principals }: AffectedPrincipals,
  work: () => Promise<T>,
): Promise<T> {
  const change: AnnouncedChange = { id: crypto.randomUUID(), affected: principals };
  // Not the clock of the context: the database holds the deadline against its own.
  const deadline = Date.now() + MAX_APPLY_MS;
  // Nobody knows those who are only just made.
  if (principals.length === 0) return runAccessChange(db, deadline, work);
  await awaitWithinTime(
    MAX_ANNOUNCE_MS,
    callObject(gates, companyId, async (gate) => await gate.beginChange(change)),
  ).catch((error) => {
    throw accessNotChanged().addCause(error);
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
