import { and, inArray, sql } from 'drizzle-orm';
import { type ControlDb, commit } from '../db/client.ts';
import { apiKeys, serviceAccounts } from '../db/schema/service-accounts.ts';
import { sessions } from '../db/schema/sign-in.ts';
import { idList } from '../db/statements.ts';
import { logError } from '../platform/log.ts';

/** The precision of `last_used_at`. */
const PRECISION_MS = 60_000;

const TABLES = { session: sessions, key: apiKeys, service_account: serviceAccounts };

/** Something whose last use is recorded. */
export interface Used {
  kind: keyof typeof TABLES;
  companyId: string;
  id: string;
}

/** What an isolate knows of the last use of a credential. It is changed as uses are recorded. */
export interface LastUse {
  used: readonly Used[];
  recordedAt: number | null;
  /** Recorded by this isolate, so that the next use may wait for others to be recorded with. */
  isGathered: boolean;
}

type Use = Used & { at: number };

/** Uses that wait to be recorded together. */
let waiting: Use[] = [];
let recordedAt = 0;

/** More than these are recorded before their minute is over. */
const MOST = 500;

/**
 * Records that a credential was used, at most once a minute, and never in the way of a request. The first use that an
 * isolate sees is recorded at once; the following ones once a minute in one batch for all whom it serves, so that the
 * control database is not asked more the more people there are.
 */
export function recordLastUse(
  { db, now, defer }: { db: ControlDb; now(): number; defer(work: Promise<unknown>): void },
  last: LastUse,
): void {
  const at = now();
  if (last.recordedAt !== null && at - last.recordedAt < PRECISION_MS) return;
  last.recordedAt = at;
  waiting.push(...last.used.map((used) => ({ ...used, at })));
  const mayWait = last.isGathered && at - recordedAt < PRECISION_MS && waiting.length < MOST;
  last.isGathered = true;
  if (mayWait) return;
  const uses = waiting;
  waiting = [];
  recordedAt = at;
  const recorded = commit(db, {
    uses: Object.keys(TABLES).flatMap((kind) => recordUses(db, kind as Used['kind'], uses)),
  });
  defer(recorded.catch((error) => logError('last_uses_not_recorded', error)));
}

/** The statement that records the uses of a kind, but those that are no later than what is recorded. */
function recordUses(db: ControlDb, kind: Used['kind'], all: readonly Use[]) {
  const uses = all.filter((use) => use.kind === kind);
  if (uses.length === 0) return [];
  const table = TABLES[kind];
  const found = sql`from json_each(${JSON.stringify(uses)}) as use
    where use.value ->> 'id' = ${table}.id and use.value ->> 'companyId' = ${table}.company_id`;
  return [
    db
      .update(table as typeof sessions)
      .set({ lastUsedAt: sql`max(coalesce(last_used_at, 0), (select max(use.value ->> 'at') ${found}))` })
      .where(and(inArray(table.id, idList(uses.map(({ id }) => id))), sql`exists (select 1 ${found})`)),
  ];
}
