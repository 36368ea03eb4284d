import { and, desc, eq, gt, inArray, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { askedQuestions as asked, type Outcome, verifiedQuestions } from '../../../db/schema/knowledge-questions.ts';
import { resources } from '../../../db/schema/knowledge-resources.ts';
import { HAS_CHANGED_ROWS, insertWhen, makeIdListSql, matchesId } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';
import { isQueryable } from '../metrics/store.ts';

export type AskedQuestionRow = typeof asked.$inferSelect;

const makeLastNumberSql = (companyId: string): SQL =>
  sql`(select coalesce(max(${asked.number}), 0) from ${asked} where ${eq(asked.companyId, companyId)})`;

/**
 * Stores a question under the next number; a question for the model only if its asker sent fewer than `limit` of these since
 * `askedSince` (ms).
 */
export const insertAskedQuestion = (
  db: ControlDb,
  row: Omit<AskedQuestionRow, 'number'>,
  { limit, askedSince }: { limit: number; askedSince: number },
) => {
  const { companyId, askedBy } = row;
  const isOwnModelQuestion = and(
    eq(asked.companyId, companyId),
    eq(asked.askedBy, askedBy),
    gt(asked.askedAt, askedSince),
    isNotNull(asked.model),
  );
  const isBelowLimit =
    row.model === null ? sql`true` : sql`(select count(*) from ${asked} where ${isOwnModelQuestion}) < ${limit}`;
  return insertWhen(db, asked, { ...row, number: sql`${makeLastNumberSql(companyId)} + 1` }, isBelowLimit).returning();
};

/** Deletes all but the last `maxKeptQuestions` questions of a company. */
export const deleteOldestQuestions = (db: ControlDb, companyId: string, maxKeptQuestions: number) =>
  db
    .delete(asked)
    .where(
      and(
        eq(asked.companyId, companyId),
        lte(asked.number, sql`${makeLastNumberSql(companyId)} - ${maxKeptQuestions}`),
      ),
    );

/** Deletes up to `limit` questions of any company that were asked before a time. */
export const deleteQuestionsBefore = (db: ControlDb, cutoff: number, limit: number) =>
  db
    .delete(asked)
    .where(inArray(asked.id, db.select({ id: asked.id }).from(asked).where(lt(asked.askedAt, cutoff)).limit(limit)));

/** Stores the outcome of a question. */
export const updateAskedQuestion = (
  db: ControlDb,
  { companyId, id }: AskedQuestionRow,
  outcome: Partial<AskedQuestionRow>,
) =>
  db
    .update(asked)
    .set(outcome)
    .where(matchesId(asked, companyId, id));

export const selectAskedQuestion = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(asked)
    .where(matchesId(asked, companyId, id));

/** Stores which verified question was made of an asked one, if the previous statement of the batch changed a row. */
export const markAccepted = (db: ControlDb, { companyId, id }: AskedQuestionRow, acceptedAs: string) =>
  db
    .update(asked)
    .set({ acceptedAs })
    .where(and(matchesId(asked, companyId, id), HAS_CHANGED_ROWS));

/** Selects the queries of a company's asked questions. */
export const selectAskedQueries = (db: ControlDb, companyId: string) =>
  db
    .select({ id: asked.id, query: sql<NonNullable<AskedQuestionRow['query']>>`${asked.query}`.mapWith(asked.query) })
    .from(asked)
    .where(and(eq(asked.companyId, companyId), isNotNull(asked.query)));

/** Reads a page of a company's asked questions, newest first, without denied ones. */
export function readAskedQuestions(
  db: ControlDb,
  companyId: string,
  { kind, denials }: { kind: Outcome | undefined; denials: Denials },
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    eq(asked.companyId, companyId),
    kind === undefined ? undefined : eq(asked.kind, kind),
    isNotDenied(asked.id, denials),
  ) as SQL;
  return readPage(db, { table: asked, filter }, { ...pageRequest, by: asked.askedAt, descending: true });
}

const makeContentFieldSql = <T>(name: string) => sql<T>`${resources.content} ->> ${`$.${name}`}`;

/** Selects the queryable metrics and dimensions, shortened, last changed first. */
export const selectQueryableItems = (
  db: ControlDb,
  companyId: string,
  {
    limit,
    maxDescriptionLength,
    hiddenIds,
  }: { limit: number; maxDescriptionLength: number; hiddenIds: ReadonlySet<string> },
) =>
  db
    .select({
      id: resources.id,
      kind: sql<'metric' | 'dimension'>`${resources.facet}`.as('kind'),
      name: makeContentFieldSql<string>('name').as('name'),
      description: sql<string>`substr(${makeContentFieldSql('description')}, 1, ${maxDescriptionLength})`.as(
        'description',
      ),
      concepts: sql<string>`${resources.content} -> '$.source_concept_ids'`.as('concepts'),
    })
    .from(resources)
    .where(and(isQueryable(companyId, hiddenIds), inArray(resources.facet, ['metric', 'dimension'])))
    .orderBy(desc(resources.updatedAt), desc(resources.id))
    .limit(limit);

/** Selects the names and aliases of active concepts that are not denied; the aliases as a JSON list. */
export const selectAliases = (db: ControlDb, companyId: string, ids: readonly string[], denials: Denials) =>
  db
    .select({
      id: resources.id,
      name: makeContentFieldSql<string>('name').as('name'),
      aliases: sql<string>`${resources.content} -> '$.aliases'`.as('aliases'),
    })
    .from(resources)
    .where(
      and(
        eq(resources.companyId, companyId),
        eq(resources.resourceType, 'concept'),
        eq(resources.status, 'active'),
        sql`${resources.id} in ${makeIdListSql(ids)}`,
        isNotDenied(resources.id, denials),
      ),
    );

/** Selects the company's verified questions that are not denied, last verified first. */
export const selectVerifiedQuestions = (db: ControlDb, companyId: string, denials: Denials, limit: number) =>
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
        isNotDenied(verifiedQuestions.id, denials),
      ),
    )
    .orderBy(desc(verifiedQuestions.createdAt), desc(verifiedQuestions.id))
    .limit(limit);
