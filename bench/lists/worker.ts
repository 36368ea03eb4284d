/** Times reads of the list of users inside workerd: a bare keyset query, and the pages of the API. */
import { openControlDb } from '../../src/db/client.ts';
import { readUsers } from '../../src/modules/users/store.ts';
import { NOTHING_DENIED } from '../../src/permissions/denials.ts';

export * from '../../src/api.ts';

/** Parameters of a timed read; page `null` means the bare keyset query. */
export interface TimedRead {
  companyId: string;
  page: number | null;
  /** Field by which the page is sorted. */
  by: 'created_at' | 'updated_at' | 'email' | 'last_login_at';
  accountId?: string;
  /** Last row before the keyset query's page. */
  after: { createdAt: number; id: string };
  repeats: number;
}

const KEYSET_SQL = `select * from users where company_id = ? and deleted_at is null and (created_at, id) < (?, ?)
  order by created_at desc, id desc limit 20`;

export default {
  /** Answers the milliseconds of all repeats, and the number of rows of the last one. */
  async fetch(request: Request, env: { CONTROL_DB: D1Database }): Promise<Response> {
    const run = (await request.json()) as TimedRead;
    const db = openControlDb(env.CONTROL_DB);
    let lastPage = { rows: 0, total: 0 };
    const startedAt = performance.now();
    for (let repeat = 0; repeat < run.repeats; repeat++) {
      lastPage = run.page === null ? await readByKeyset(env.CONTROL_DB, run) : await readListPage(db, run, run.page);
    }
    return Response.json({ milliseconds: performance.now() - startedAt, ...lastPage });
  },
};

async function readByKeyset(db: D1Database, { companyId, after }: TimedRead) {
  const { results } = await db.prepare(KEYSET_SQL).bind(companyId, after.createdAt, after.id).all();
  return { rows: results.length, total: 0 };
}

async function readListPage(
  db: ReturnType<typeof openControlDb>,
  { companyId, by, accountId }: TimedRead,
  number: number,
) {
  const pageRequest = { by, descending: true, page: number, perPage: 20 };
  const { records, total } = await readUsers(
    db,
    companyId,
    { accountId, lifecycle: 'living', denials: NOTHING_DENIED },
    pageRequest,
  );
  return { rows: records.length, total };
}
