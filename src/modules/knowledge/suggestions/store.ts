import { and, eq, getTableColumns, inArray, isNotNull, isNull, ne, or, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { jobs } from '../../../db/schema/knowledge-jobs.ts';
import type { Content, ResourceType } from '../../../db/schema/knowledge-resources.ts';
import { type SuggestionStatus, suggestions, type TargetType } from '../../../db/schema/knowledge-suggestions.ts';
import { existsSql, HAS_CHANGED_ROWS, makeIdListSql, matchesId } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

export type SuggestionRow = typeof suggestions.$inferSelect;

/** Returns the SQL condition for the suggestion with this id, unless it is staged, and so not yet visible to users. */
const isVisibleWithId = (companyId: string, id: string): SQL =>
  and(matchesId(suggestions, companyId, id), ne(suggestions.status, 'staged')) as SQL;

/** The suggestions denied to a caller, and the denied targets of suggestions. */
export interface DeniedSuggestions {
  suggestions: Denials;
  targets: Record<ResourceType, Denials>;
}

/** The suggestions to create the nodes of a suggested relation. */
const nodeSuggestions = alias(suggestions, 'node_suggestion');

/** Returns the SQL condition for suggestions that are not denied, and whose targets and source concept are not denied either. */
const isTargetNotDenied = (
  table: typeof suggestions | typeof nodeSuggestions,
  { suggestions: deniedIds, targets }: DeniedSuggestions,
): SQL | undefined =>
  and(
    isNotDenied(table.id, deniedIds),
    isNotDenied(table.conceptId, targets.concept),
    ...Object.entries(targets).map(([type, denials]) => {
      const isResourceNotDenied = and(isNotDenied(table.targetId, denials), isNotDenied(table.resourceId, denials));
      return (
        isResourceNotDenied &&
        sql`(${table.targetType} not in (${type}, ${`${type}_create`}) or ${isResourceNotDenied})`
      );
    }),
  );

/**
 * Returns the SQL condition for suggestions that are hidden neither by themselves nor by a node that they name: a suggested
 * relation is named after its nodes, which exist or are only suggested.
 */
function isSuggestionNotDenied(deniedSuggestions: DeniedSuggestions): SQL | undefined {
  const { payload } = suggestions;
  const isNodeSuggestionNotDenied = isTargetNotDenied(nodeSuggestions, deniedSuggestions);
  return and(
    isTargetNotDenied(suggestions, deniedSuggestions),
    isNotDenied(sql`${payload} ->> 'subject_node_id'`, deniedSuggestions.targets.ontology_node),
    isNotDenied(sql`${payload} ->> 'object_node_id'`, deniedSuggestions.targets.ontology_node),
    isNodeSuggestionNotDenied &&
      sql`not exists (select 1 from ${suggestions} as ${nodeSuggestions}
        where ${nodeSuggestions.companyId} = ${suggestions.companyId}
        and ${nodeSuggestions.id} in (${payload} ->> 'subject_suggestion_id', ${payload} ->> 'object_suggestion_id')
        and not (${isNodeSuggestionNotDenied}))`,
  );
}

export const insertSuggestion = (db: ControlDb, row: SuggestionRow) => db.insert(suggestions).values(row);

export const selectSuggestion = (db: ControlDb, companyId: string, id: string, deniedSuggestions: DeniedSuggestions) =>
  db
    .select()
    .from(suggestions)
    .where(and(isVisibleWithId(companyId, id), isSuggestionNotDenied(deniedSuggestions)));

export const selectSuggestions = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select()
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        ne(suggestions.status, 'staged'),
        sql`${suggestions.id} in ${makeIdListSql(ids)}`,
      ),
    );

/** Reads a page of a company's suggestions, newest first, without denied ones. */
export function readSuggestions(
  db: ControlDb,
  companyId: string,
  filter: { status: SuggestionStatus; targetType?: TargetType; jobId?: string; deniedSuggestions: DeniedSuggestions },
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const condition = and(
    eq(suggestions.companyId, companyId),
    eq(suggestions.status, filter.status),
    filter.targetType === undefined ? undefined : eq(suggestions.targetType, filter.targetType),
    filter.jobId === undefined ? undefined : eq(suggestions.jobId, filter.jobId),
    isSuggestionNotDenied(filter.deniedSuggestions),
  ) as SQL;
  return readPage(
    db,
    { table: suggestions, filter: condition },
    { ...pageRequest, by: suggestions.createdAt, descending: true },
  );
}

/** Returns the SQL condition that a suggestion is pending. */
export const isSuggestionPending = (companyId: string, id: string): SQL =>
  existsSql(suggestions, matchesId(suggestions, companyId, id), eq(suggestions.status, 'pending'));

export type Review = Pick<SuggestionRow, 'reviewNote' | 'reviewedByUserId' | 'reviewedAt'>;

/** Returns the columns that say of a suggestion that it was accepted, and what it created or updated. */
export const makeAcceptedColumns = (resourceId: string, review: Review) =>
  ({ ...review, status: 'accepted', resourceId, updatedAt: review.reviewedAt as number }) as const;

/** Marks a suggestion as accepted, if the previous write of the batch, guarded by `isSuggestionPending`, changed a row. */
export const markAccepted = (db: ControlDb, companyId: string, id: string, resourceId: string, review: Review) =>
  db
    .update(suggestions)
    .set(makeAcceptedColumns(resourceId, review))
    .where(and(isVisibleWithId(companyId, id), HAS_CHANGED_ROWS));

/** Marks a pending suggestion as rejected. */
export const markRejected = (db: ControlDb, companyId: string, id: string, review: Review) =>
  db
    .update(suggestions)
    .set({ ...review, status: 'rejected', updatedAt: review.reviewedAt as number })
    .where(and(isVisibleWithId(companyId, id), eq(suggestions.status, 'pending')))
    .returning();

/** A suggestion that nobody has reviewed yet. */
export type NewSuggestion = Omit<
  SuggestionRow,
  'status' | 'reviewNote' | 'reviewedByUserId' | 'reviewedAt' | 'resourceId'
>;

/** Where a suggestion comes from. */
export type Origin = Pick<NewSuggestion, 'createdByUserId' | 'requestId' | 'jobId' | 'candidateKey'>;

/**
 * Returns the SQL for the columns of these suggestions, bound as one JSON parameter: a statement takes at most 100
 * parameters.
 */
function toCandidateRows(rows: readonly NewSuggestion[], status: 'staged' | 'pending') {
  const values = Object.entries(getTableColumns(suggestions)).map(([field, { dataType }]) => {
    if (field === 'status') return sql`${status}`;
    return dataType === 'json' ? sql`candidate.value -> ${field}` : sql`candidate.value ->> ${field}`;
  });
  return sql`${sql.join(values, sql`, `)} from json_each(${JSON.stringify(rows)}) as candidate`;
}

/** Inserts a batch's suggestions, if the previous write changed a row. Suggestions that the job already has are skipped. */
export const insertJobSuggestions = (db: ControlDb, rows: NewSuggestion[], status: 'staged' | 'pending') =>
  db
    .insert(suggestions)
    .select(sql`select ${toCandidateRows(rows, status)} where ${HAS_CHANGED_ROWS}`)
    .onConflictDoNothing();

/** Inserts pending suggestions that no job made. */
export const insertPendingSuggestions = (db: ControlDb, rows: readonly NewSuggestion[]) =>
  db.insert(suggestions).select(sql`select ${toCandidateRows(rows, 'pending')}`);

/** The columns that identify a suggestion to create a resource. */
export type SuggestedCreation = Pick<SuggestionRow, 'id' | 'targetType' | 'targetName' | 'payload'>;

/** The members of a payload that the keys of resources are made of. */
const IDENTIFYING_FIELDS = ['name', 'kind', 'node_type', 'predicate'].concat(
  ['subject', 'object'].flatMap((end) => [`${end}_node_id`, `${end}_suggestion_id`]),
);

/**
 * The columns that identify a suggestion, without the rest of its payload: all payloads together may exceed the memory
 * of an isolate.
 */
const identifyingColumns = {
  id: suggestions.id,
  targetType: suggestions.targetType,
  targetName: suggestions.targetName,
  payload: sql<Content>`(select json_group_object(key, value) from json_each(${suggestions.payload})
    where key in (select value from json_each(${JSON.stringify(IDENTIFYING_FIELDS)})))`.mapWith(suggestions.payload),
};

/** The maximum number of suggestions that are read to find out whether a suggestion exists already. */
const MAX_READ_SUGGESTIONS = 5000;

const newestFirstOrder = sql`${suggestions.createdAt} desc, ${suggestions.id} desc`;

const isStagedByJob = (companyId: string, jobId: string) =>
  and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged'));

/** Selects the newest staged suggestions of a job, the newest first. */
export const selectStagedSuggestions = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select(identifyingColumns)
    .from(suggestions)
    .where(isStagedByJob(companyId, jobId))
    .orderBy(newestFirstOrder)
    .limit(MAX_READ_SUGGESTIONS);

/** Selects only the names of a job's staged suggestions: there may be very many concepts. */
export const selectStagedNames = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .select({
      targetType: suggestions.targetType,
      targetName: suggestions.targetName,
      candidateKey: suggestions.candidateKey,
    })
    .from(suggestions)
    .where(isStagedByJob(companyId, jobId))
    .orderBy(newestFirstOrder)
    .limit(MAX_READ_SUGGESTIONS);

/** Selects the resources that were created from the accepted suggestions with these ids. */
export const selectCreatedResources = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select({ id: suggestions.id, resourceId: sql<string>`${suggestions.resourceId}` })
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        isNotNull(suggestions.resourceId),
        sql`${suggestions.id} in ${makeIdListSql(ids)}`,
      ),
    );

/** Selects pending suggestions of some target types, the newest first; imported ones only if `includesImported`. */
export const selectPendingSuggestions = (
  db: ControlDb,
  companyId: string,
  { targetTypes, includesImported }: { targetTypes: TargetType[]; includesImported: boolean },
) =>
  db
    .select(identifyingColumns)
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.status, 'pending'),
        inArray(suggestions.targetType, targetTypes),
        includesImported ? undefined : or(isNotNull(suggestions.jobId), isNull(suggestions.candidateKey)),
      ),
    )
    .orderBy(newestFirstOrder)
    .limit(MAX_READ_SUGGESTIONS);

/** Selects the pending suggestions of imports that have one of these keys. */
export const selectImportedSuggestions = (db: ControlDb, companyId: string, candidateKeys: readonly string[]) =>
  db
    .select({ id: suggestions.id, candidateKey: sql<string>`${suggestions.candidateKey}` })
    .from(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        // In the words of its index.
        sql`${suggestions.status} = 'pending' and ${suggestions.jobId} is null`,
        sql`${suggestions.candidateKey} in ${makeIdListSql(candidateKeys)}`,
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

/** Marks the staged suggestions of a job as pending, in the same batch as the last suggestions of the job. */
export const publishStagedSuggestions = (db: ControlDb, companyId: string, jobId: string, now: number) =>
  db
    .update(suggestions)
    .set({ status: 'pending', updatedAt: now })
    .where(and(eq(suggestions.companyId, companyId), eq(suggestions.jobId, jobId), eq(suggestions.status, 'staged')));

/** Deletes the staged suggestions of a job, if the previous write changed a row. */
export const deleteStagedSuggestions = (db: ControlDb, companyId: string, jobId: string) =>
  db
    .delete(suggestions)
    .where(
      and(
        eq(suggestions.companyId, companyId),
        eq(suggestions.jobId, jobId),
        eq(suggestions.status, 'staged'),
        HAS_CHANGED_ROWS,
      ),
    );
