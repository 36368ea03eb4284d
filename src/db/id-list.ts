import { sql } from 'drizzle-orm';

/** Ids as a subquery for `in`: one bound parameter, however many (D1 takes 100 in a statement). */
export const idList = (ids: readonly string[]) => sql`(select value from json_each(${JSON.stringify(ids)}))`;
