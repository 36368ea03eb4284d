import { and, eq, getTableColumns, inArray, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type SuggestionStatus, suggestions, type TargetType } from '../../../db/schema/knowledge-suggestions.ts';

export type SuggestionRow = typeof suggestions.$inferSelect;

const one = (companyId: string, id: string): SQL =>
  and(eq(suggestions.companyId, companyId), eq(suggestions.id, id), ne(suggestions.status, 'staged')) as SQL;

export const insertSuggestion = (db: ControlDb, row: SuggestionRow) => db.insert(suggestions).values(row);

/** A suggestion that people can see. */
export const selectSuggestion = (db: ControlDb, companyId: string, id: string) =>
  db.select().from(suggestions).where(one(companyId, id));

/** Several suggestions that people can see. */
export const selectSuggestions = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select()
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        ne(suggestions.status, 'staged'),
        sql`${suggestions.id} in (select value from json_each(${JSON.stringify(ids)}))`,
      ),
    );

/** A page of a company's suggestions, newest first. */
export function readSuggestions(
  db: ControlDb,
  companyId: string,
  filter: { status: SuggestionStatus; targetType?: TargetType; jobId?: string },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const which = and(
    eq(suggestions.companyId, companyId),
    eq(suggestions.status, filter.status),
    filter.targetType === undefined ? undefined : eq(suggestions.targetType, filter.targetType),
    filter.jobId === undefined ? undefined : eq(suggestions.jobId, filter.jobId),
  ) as SQL;
  return readPage(db, { table: suggestions, filter: which }, { ...part, by: suggestions.createdAt, descending: true });
}

/** Holds while a suggestion is pending. */
export const isPending = (companyId: string, id: string): SQL =>
  sql`exists (select 1 from knowledge_suggestions where id = ${id} and company_id = ${companyId} and status = 'pending')`;

export type Review = Pick<SuggestionRow, 'reviewNote' | 'reviewedByUserId' | 'reviewedAt'>;

/** Marks a pending suggestion as accepted, if the write before it in the batch took place. */
export const markAccepted = (db: ControlDb, companyId: string, id: string, resourceId: string, review: Review) =>
  db
    .update(suggestions)
    .set({ ...review, status: 'accepted', resourceId, updatedAt: review.reviewedAt as number })
    .where(and(one(companyId, id), eq(suggestions.status, 'pending'), sql`changes() > 0`));

/** Marks a pending suggestion as rejected. */
export const markRejected = (db: ControlDb, companyId: string, id: string, review: Review) =>
  db
    .update(suggestions)
    .set({ ...review, status: 'rejected', updatedAt: review.reviewedAt as number })
    .where(and(one(companyId, id), eq(suggestions.status, 'pending')))
    .returning();

/** A suggestion that a job keeps back until it succeeds. */
export type StagedRow = Omit<SuggestionRow, 'status' | 'reviewNote' | 'reviewedByUserId' | 'reviewedAt' | 'resourceId'>;

/**
 * Keeps the candidates of a job's batch back, or shows them at once, if the write before it took place. One that the job
 * has already is left out.
 */
export const insertCandidates = (db: ControlDb, rows: StagedRow[], status: 'staged' | 'pending') => {
  // As one parameter, since a statement takes a hundred at most.
  const values = Object.entries(getTableColumns(suggestions)).map(([member, { dataType }]) => {
    if (member === 'status') return sql`${status}`;
    return dataType === 'json' ? sql`candidate.value -> ${member}` : sql`candidate.value ->> ${member}`;
  });
  const candidates = sql`json_each(${JSON.stringify(rows)}) as candidate`;
  return db
    .insert(suggestions)
    .select(sql`select ${sql.join(values, sql`, `)} from ${candidates} where changes() > 0`)
    .onConflictDoNothing();
};

/** The candidates that a job keeps back. */
export const selectStaged = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select()
    .from(suggestions)
    .where(and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged')));

/** What the candidates are that a job keeps back, without all that they say. */
export const selectStagedNames = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select({
      targetType: suggestions.targetType,
      targetName: suggestions.targetName,
      candidateKey: suggestions.candidateKey,
    })
    .from(suggestions)
    .where(and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged')));

/** Pending suggestions of some target types, the newest first. */
export const selectPending = (db: ControlDb, companyId: string, targetTypes: TargetType[], limit: number) =>
  db
    .select()
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.status, 'pending'),
        inArray(suggestions.targetType, targetTypes),
      ),
    )
    .orderBy(sql`${suggestions.createdAt} desc, ${suggestions.id} desc`)
    .limit(limit);

/** Holds once a job has ended well. */
const succeeded = (companyId: string, jobId: string): SQL =>
  sql`exists (select 1 from knowledge_jobs where id = ${jobId} and company_id = ${companyId} and status = 'succeeded')`;

/** Replaces what is left of earlier batches of concepts, if the job has ended well and brings something. */
export const supersedeConcepts = (db: ControlDb, companyId: string, jobId: string, now: number) =>
  db
    .update(suggestions)
    .set({ status: 'superseded', updatedAt: now })
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.status, 'pending'),
        inArray(suggestions.targetType, ['concept', 'concept_create']),
        sql`${suggestions.jobId} in (select id from knowledge_jobs where company_id = ${companyId} and type = 'concept_generation' and id <> ${jobId})`,
        succeeded(companyId, jobId),
        sql`exists (select 1 from knowledge_suggestions as kept where kept.job_id = ${jobId} and kept.status = 'staged')`,
      ),
    );

/** Shows what a job kept back, if it has ended well. */
export const showStaged = (db: ControlDb, companyId: string, jobId: string, now: number) =>
  db
    .update(suggestions)
    .set({ status: 'pending', updatedAt: now })
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.jobId, jobId),
        eq(suggestions.status, 'staged'),
        succeeded(companyId, jobId),
      ),
    );

/** Throws away what a job kept back, if the write before it took place. */
export const dropStaged = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .delete(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.jobId, jobId),
        eq(suggestions.status, 'staged'),
        sql`changes() > 0`,
      ),
    );
