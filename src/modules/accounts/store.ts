import type { ControlDb } from '../../db/client.ts';
import { accounts } from './tables.ts';

export type Account = typeof accounts.$inferSelect;

export const insertAccount = (db: ControlDb, record: Account) => db.insert(accounts).values(record);
