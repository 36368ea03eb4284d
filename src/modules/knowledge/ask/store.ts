import { and, desc, eq, gt, inArray, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { askedQuestions as asked, type Outcome, verifiedQuestions } from '../../../db/schema/knowledge-questions.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { afterChange, byId, idListSql, insertWhen } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';
import { isQueryable } from '../metrics/store.ts';

export type AskedRow = typeof asked.$inferSelect;

const lastNumber = (companyId: string): SQL =>
  sql`(select coalesce(max(${asked.number}), 0) from ${asked} where ${eq(asked.companyId, companyId)})`;

/** Stores a question under the next number; one for a model only if its asker sent fewer than `limit` of these since `since`. */
export const insertAsked = (
  db: ControlDb,
  row: Omit<AskedRow, 'number'>,
  { limit, since }: { limit: number; since: number },
) => {
  const { companyId, askedBy } = row;
  const mine = and(
    eq(asked.companyId, companyId),
    eq(asked.askedBy, askedBy),
    gt(asked.askedAt, since),
    isNotNull(asked.model),
  );
  const isAllowed = row.model === null ? sql`true` : sql`(select count(*) from ${asked} where ${mine}) < ${limit}`;
  return insertWhen(db, asked, { ...row, number: sql`${lastNumber(companyId)} + 1` }, isAllowed).returning();
};

/** Deletes all but the last `most` questions of a company. */
export const deleteOldest = (db: ControlDb, companyId: string, most: number) =>
  db
    .delete(asked)
    .where(and(eq(asked.companyId, companyId), lte(asked.number, sql`${lastNumber(companyId)} - ${most}`)));

/** Deletes up to `limit` questions of any company that were asked before a time. */
export const deleteBefore = (db: ControlDb, before: number, limit: number) =>
  db
    .delete(asked)
    .where(inArray(asked.id, db.select({ id: asked.id }).from(asked).where(lt(asked.askedAt, before)).limit(limit)));

/** Records the outcome of a question. */
export const updateAsked = (db: ControlDb, { companyId, id }: AskedRow, outcome: Partial<AskedRow>) =>
  db
    .update(asked)
    .set(outcome)
    .where(byId(asked, companyId, id));

export const selectAsked = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(asked)
    .where(byId(asked, companyId, id));

/** Records the verified question that an asked one was accepted as, if the statement before it in the batch changed a row. */
export const markAccepted = (db: ControlDb, { companyId, id }: AskedRow, acceptedAs: string) =>
  db
    .update(asked)
    .set({ acceptedAs })
    .where(and(byId(asked, companyId, id), afterChange));

/** The queries of a company's questions. */
export const selectAskedQueries = (db: ControlDb, companyId: string) =>
  db
    .select({ id: asked.id, query: sql<NonNullable<AskedRow['query']>>`${asked.query}`.mapWith(asked.query) })
    .from(asked)
    .where(and(eq(asked.companyId, companyId), isNotNull(asked.query)));

/** A page of a company's questions, newest first, without those that are denied. */
export const readAsked = (
  db: ControlDb,
  companyId: string,
  { kind, denied }: { kind: Outcome | undefined; denied: Denials },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) =>
  readPage(
    db,
    {
      table: asked,
      filter: and(
        eq(asked.companyId, companyId),
        kind === undefined ? undefined : eq(asked.kind, kind),
        isNotDenied(asked.id, denied),
      ) as SQL,
    },
    { ...part, by: asked.askedAt, descending: true },
  );

const contentField = <T>(name: string) => sql<T>`${resources.content} ->> ${`$.${name}`}`;

/** The queryable metrics and dimensions, in short, last changed first. */
export const selectOffered = (
  db: ControlDb,
  companyId: string,
  { limit, description, hidden }: { limit: number; description: number; hidden: ReadonlySet<string> },
) =>
  db
    .select({
      id: resources.id,
      kind: sql<'metric' | 'dimension'>`${resources.facet}`.as('kind'),
      name: contentField<string>('name').as('name'),
      description: sql<string>`substr(${contentField('description')}, 1, ${description})`.as('description'),
      concepts: sql<string>`${resources.content} -> '$.source_concept_ids'`.as('concepts'),
    })
    .from(resources)
    .where(and(isQueryable(companyId, hidden), inArray(resources.facet, ['metric', 'dimension'])))
    .orderBy(desc(resources.updatedAt), desc(resources.id))
    .limit(limit);

/** The names and aliases of active concepts that are not denied; the aliases as a JSON list. */
export const selectAliases = (db: ControlDb, companyId: string, ids: readonly string[], denied: Denials) =>
  db
    .select({
      id: resources.id,
      name: contentField<string>('name').as('name'),
      aliases: sql<string>`${resources.content} -> '$.aliases'`.as('aliases'),
    })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        eq(resources.resourceType, 'concept'),
        eq(resources.status, 'active'),
        sql`${resources.id} in ${idListSql(ids)}`,
        isNotDenied(resources.id, denied),
      ),
    );

/** The company's verified questions that are not denied, last verified first. */
export const selectVerified = (db: ControlDb, companyId: string, denied: Denials, limit: number) =>
  db
    .select({
      id: verifiedQuestions.id,
      question: verifiedQuestions.question,
      query: verifiedQuestions.query,
    })
    .from(verifiedQuestions)
    .where(
      and(
        eq(verifiedQuestions.companyId, companyId),
        eq(verifiedQuestions.status, 'verified'),
        isNotDenied(verifiedQuestions.id, denied),
      ),
    )
    .orderBy(desc(verifiedQuestions.createdAt), desc(verifiedQuestions.id))
    .limit(limit);
