import { integer, text } from 'drizzle-orm/sqlite-core';

/** Primary key: 24 hexadecimal characters, minted by us. */
export const id = () => text('id').primaryKey();

/** The tenant a row belongs to. Every query filters by it. */
export const companyId = () => text('company_id').notNull();

/** A time in milliseconds since the epoch. */
export const timestamp = (name: string) => integer(name);

/** When a row was made and last changed. */
export const timestamps = () => ({
  createdAt: timestamp('created_at').notNull(),
  updatedAt: timestamp('updated_at').notNull(),
});

/** Soft deletion: null while the row lives. */
export const deletedAt = () => timestamp('deleted_at');

export const flag = (name: string) => integer(name, { mode: 'boolean' });

/** A JSON value of type T, stored as text. */
export const json = <T>(name: string) => text(name, { mode: 'json' }).$type<T>();

/** Free key-value pairs that callers keep on a resource. */
export type Metadata = Record<string, unknown>;
