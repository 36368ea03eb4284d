import { and, eq, getTableColumns, inArray, isNotNull, isNull, ne, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { jobs } from '../../../db/schema/knowledge-jobs.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type SuggestionStatus, suggestions, type TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { afterChange, byId, exists, idListSql } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

export type SuggestionRow = typeof suggestions.$inferSelect;

/** SQL condition: true for the suggestion with this id, unless it is staged, and so not yet visible to users. */
const byVisibleId = (companyId: string, id: string): SQL =>
  and(byId(suggestions, companyId, id), ne(suggestions.status, 'staged')) as SQL;

/** The suggestions denied to a caller, and the denied targets of suggestions. */
export interface DeniedSuggestions {
  suggestions: Denials;
  targets: Record<ResourceType, Denials>;
}

/** SQL condition, true for suggestions that are not denied, whose targets and source concept are not denied either. */
const isShown = ({ suggestions: own, targets }: DeniedSuggestions): SQL | undefined =>
  and(
    isNotDenied(suggestions.id, own),
    isNotDenied(suggestions.conceptId, targets.concept),
    ...Object.entries(targets).map(([type, denied]) => {
      const isNamed = and(isNotDenied(suggestions.targetId, denied), isNotDenied(suggestions.resourceId, denied));
      return isNamed && sql`(${suggestions.targetType} not in (${type}, ${`${type}_create`}) or ${isNamed})`;
    }),
  );

export const insertSuggestion = (db: ControlDb, row: SuggestionRow) => db.insert(suggestions).values(row);

export const selectSuggestion = (db: ControlDb, companyId: string, id: string, denied: DeniedSuggestions) =>
  db
    .select()
    .from(suggestions)
    .where(and(byVisibleId(companyId, id), isShown(denied)));

export const selectSuggestions = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select()
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        ne(suggestions.status, 'staged'),
        sql`${suggestions.id} in ${idListSql(ids)}`,
      ),
    );

/** A page of a company's suggestions, newest first, without the denied ones. */
export function readSuggestions(
  db: ControlDb,
  companyId: string,
  filter: { status: SuggestionStatus; targetType?: TargetType; jobId?: string; denied: DeniedSuggestions },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const which = and(
    eq(suggestions.companyId, companyId),
    eq(suggestions.status, filter.status),
    filter.targetType === undefined ? undefined : eq(suggestions.targetType, filter.targetType),
    filter.jobId === undefined ? undefined : eq(suggestions.jobId, filter.jobId),
    isShown(filter.denied),
  ) as SQL;
  return readPage(db, { table: suggestions, filter: which }, { ...part, by: suggestions.createdAt, descending: true });
}

/** SQL condition, true while a suggestion is pending. */
export const isPending = (companyId: string, id: string): SQL =>
  exists(suggestions, byId(suggestions, companyId, id), eq(suggestions.status, 'pending'));

export type Review = Pick<SuggestionRow, 'reviewNote' | 'reviewedByUserId' | 'reviewedAt'>;

/** Marks a suggestion as accepted, if the write before it in the batch, which `isPending` guards, changed a row. */
export const markAccepted = (db: ControlDb, companyId: string, id: string, resourceId: string, review: Review) =>
  db
    .update(suggestions)
    .set({ ...review, status: 'accepted', resourceId, updatedAt: review.reviewedAt as number })
    .where(and(byVisibleId(companyId, id), afterChange));

/** Marks a pending suggestion as rejected. */
export const markRejected = (db: ControlDb, companyId: string, id: string, review: Review) =>
  db
    .update(suggestions)
    .set({ ...review, status: 'rejected', updatedAt: review.reviewedAt as number })
    .where(and(byVisibleId(companyId, id), eq(suggestions.status, 'pending')))
    .returning();

/** A suggestion that nobody has reviewed. */
export type NewSuggestion = Omit<
  SuggestionRow,
  'status' | 'reviewNote' | 'reviewedByUserId' | 'reviewedAt' | 'resourceId'
>;

/** The columns of suggestions, from their rows as one parameter: a statement takes at most a hundred parameters. */
function toCandidateRows(rows: readonly NewSuggestion[], status: 'staged' | 'pending') {
  const values = Object.entries(getTableColumns(suggestions)).map(([field, { dataType }]) => {
    if (field === 'status') return sql`${status}`;
    return dataType === 'json' ? sql`candidate.value -> ${field}` : sql`candidate.value ->> ${field}`;
  });
  return sql`${sql.join(values, sql`, `)} from json_each(${JSON.stringify(rows)}) as candidate`;
}

/** Inserts the suggestions of a job's batch, if the write before it changed a row. One that the job has is left out. */
export const insertCandidates = (db: ControlDb, rows: NewSuggestion[], status: 'staged' | 'pending') =>
  db
    .insert(suggestions)
    .select(sql`select ${toCandidateRows(rows, status)} where ${afterChange}`)
    .onConflictDoNothing();

/** Inserts pending suggestions that no job made. */
export const insertPending = (db: ControlDb, rows: readonly NewSuggestion[]) =>
  db.insert(suggestions).select(sql`select ${toCandidateRows(rows, 'pending')}`);

/** The columns that identify a suggestion of something new. */
export type SuggestedCreation = Pick<SuggestionRow, 'id' | 'targetType' | 'targetName' | 'payload'>;

/** The members of a payload that the keys of resources are made of. */
const IDENTIFYING_FIELDS = ['name', 'kind', 'node_type', 'predicate'].concat(
  ['subject', 'object'].flatMap((end) => [`${end}_node_id`, `${end}_suggestion_id`]),
);

/** The columns that identify a suggestion: the whole payloads of all would be more than an isolate can hold. */
const identifyingColumns = {
  id: suggestions.id,
  targetType: suggestions.targetType,
  targetName: suggestions.targetName,
  payload: sql<Content>`(select json_group_object(key, value) from json_each(${suggestions.payload})
    where key in (select value from json_each(${JSON.stringify(IDENTIFYING_FIELDS)})))`.mapWith(suggestions.payload),
};

/** The maximum number of suggestions that are read to find those that exist already. */
const MAX_READ = 5000;

const newestFirst = sql`${suggestions.createdAt} desc, ${suggestions.id} desc`;

const isStaged = (companyId: string, jobId: string) =>
  and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged'));

/** Selects the suggestions that a job staged last, the newest first. */
export const selectStaged = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select(identifyingColumns)
    .from(suggestions)
    .where(isStaged(companyId, jobId))
    .orderBy(newestFirst)
    .limit(MAX_READ);

export const selectStagedNames = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select({
      targetType: suggestions.targetType,
      targetName: suggestions.targetName,
      candidateKey: suggestions.candidateKey,
    })
    .from(suggestions)
    .where(isStaged(companyId, jobId))
    .orderBy(newestFirst)
    .limit(MAX_READ);

/** The resources that accepted suggestions of these ids made. */
export const selectCreatedResources = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select({ id: suggestions.id, resourceId: sql<string>`${suggestions.resourceId}` })
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        isNotNull(suggestions.resourceId),
        sql`${suggestions.id} in ${idListSql(ids)}`,
      ),
    );

/** Pending suggestions of some target types, the newest first; of imports only where `alsoImported`. */
export const selectPending = (
  db: ControlDb,
  companyId: string,
  { targetTypes, alsoImported }: { targetTypes: TargetType[]; alsoImported: boolean },
) =>
  db
    .select(identifyingColumns)
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.status, 'pending'),
        inArray(suggestions.targetType, targetTypes),
        alsoImported ? undefined : or(isNotNull(suggestions.jobId), isNull(suggestions.candidateKey)),
      ),
    )
    .orderBy(newestFirst)
    .limit(MAX_READ);

/** The pending suggestions of imports that have one of these keys. */
export const selectImported = (db: ControlDb, companyId: string, candidateKeys: readonly string[]) =>
  db
    .select({ id: suggestions.id, candidateKey: sql<string>`${suggestions.candidateKey}` })
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        // In the words of its index.
        sql`${suggestions.status} = 'pending' and ${suggestions.jobId} is null`,
        sql`${suggestions.candidateKey} in ${idListSql(candidateKeys)}`,
      ),
    );

/**
 * Marks the pending concept suggestions of earlier jobs as superseded, if this job has staged suggestions (a cancelled job has
 * none).
 */
export const supersedeConcepts = (db: ControlDb, companyId: string, jobId: string, now: number) =>
  db
    .update(suggestions)
    .set({ status: 'superseded', updatedAt: now })
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.status, 'pending'),
        sql`${suggestions.jobId} in (select ${jobs.id} from ${jobs}
          where ${jobs.companyId} = ${companyId} and ${jobs.type} = 'concept_generation')`,
        sql`exists (select 1 from ${suggestions} as staged where staged.job_id = ${jobId} and staged.status = 'staged')`,
      ),
    );

/** Publishes the staged suggestions of a job, with the last of its batches. */
export const publishStaged = (db: ControlDb, companyId: string, jobId: string, now: number) =>
  db
    .update(suggestions)
    .set({ status: 'pending', updatedAt: now })
    .where(and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged')));

/** Deletes the staged suggestions of a job, if the write before it changed a row. */
export const deleteStaged = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .delete(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.jobId, jobId),
        eq(suggestions.status, 'staged'),
        afterChange,
      ),
    );
