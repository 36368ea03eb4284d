import { drizzle } from 'drizzle-orm/d1';
import type { ControlDb } from './client.ts';

/**
 * The audit database: records of requests, and messages that no consumer could handle. Any replica may answer, since
 * records are behind by a queue in any case.
 */
export function openAuditDb(database: D1Database): ControlDb {
  return drizzle(database.withSession('first-unconstrained') as unknown as D1Database);
}
