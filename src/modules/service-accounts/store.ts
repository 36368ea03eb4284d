import type { ControlDb } from '../../db/client.ts';
import { apiKeys, serviceAccounts } from './tables.ts';

export type ServiceAccount = typeof serviceAccounts.$inferSelect;
export type ApiKey = typeof apiKeys.$inferSelect;

export const insertServiceAccount = (db: ControlDb, record: ServiceAccount) => db.insert(serviceAccounts).values(record);

export const insertApiKey = (db: ControlDb, record: ApiKey) => db.insert(apiKeys).values(record);
