import { and, eq, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { resources, type Status, type ValidationError, versions } from '../../../db/schema/knowledge-resources.ts';
import { HAS_CHANGED_ROWS, insertWhen, makeIdListSql, matchesId } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

export type ResourceRow = typeof resources.$inferSelect;
export type VersionRow = typeof versions.$inferSelect;

/** A condition that must hold at the moment of a write. */
export type WriteCondition = SQL;

/** The key of a resource within all companies. */
export type ResourceKey = Pick<ResourceRow, 'companyId' | 'resourceType' | 'id'>;

const isResourceWithKey = ({ companyId, resourceType, id }: ResourceKey): SQL =>
  and(matchesId(resources, companyId, id), eq(resources.resourceType, resourceType)) as SQL;

/** Selects the resource of an id, archived or not. */
export const selectResource = (db: ControlDb, key: ResourceKey) =>
  db.select().from(resources).where(isResourceWithKey(key));

/** Selects several resources of a company, of any type, archived or not. */
export const selectResources = (db: ControlDb, companyId: string, ids: readonly string[]) =>
  db
    .select()
    .from(resources)
    .where(and(eq(resources.companyId, companyId), sql`${resources.id} in ${makeIdListSql(ids)}`));

/** The resources of a company of one type, and of one facet where it is given. */
type ResourceScope = Pick<ResourceRow, 'companyId' | 'resourceType'> & { facet?: string };

const isInScope = ({ companyId, resourceType, facet }: ResourceScope): SQL =>
  and(
    eq(resources.companyId, companyId),
    eq(resources.resourceType, resourceType),
    facet === undefined ? undefined : eq(resources.facet, facet),
  ) as SQL;

const isUnarchived = ne(resources.status, 'archived');

/**
 * Selects resources that are not archived, last changed first. @param mentionedIn a text of `normalizeName`: resources whose
 * unique key, such as the name, occurs in it come first
 */
export const selectUnarchivedResources = (
  db: ControlDb,
  scope: ResourceScope,
  mentionedIn: string | undefined,
  limit: number,
) =>
  db
    .select()
    .from(resources)
    .where(and(isInScope(scope), isUnarchived))
    .orderBy(
      ...(mentionedIn === undefined ? [] : [sql`instr(${mentionedIn}, ${resources.uniqueKey}) > 0 desc`]),
      sql`${resources.updatedAt} desc, ${resources.id} desc`,
    )
    .limit(limit);

/** Counts resources that are not archived, without denied ones. */
export const countUnarchivedResources = (db: ControlDb, scope: ResourceScope, denials: Denials) =>
  db
    .select({ count: sql<number>`count(*)` })
    .from(resources)
    .where(and(isInScope(scope), isUnarchived, isNotDenied(resources.id, denials)));

/** The filter of a list. Without a status it leaves out archived resources. `search` is as `toSearchText` returns it. */
export interface ResourceFilter {
  status?: Status;
  facet?: string;
  search?: string;
  subjectId?: string;
  objectId?: string;
}

/** Reads a page of a company's resources of one type, newest first, without denied ones. */
export function readResources(
  db: ControlDb,
  scope: ResourceScope,
  { status, facet, search, subjectId, objectId, denials }: ResourceFilter & { denials: Denials },
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    isInScope({ ...scope, facet }),
    status === undefined ? isUnarchived : eq(resources.status, status),
    search === undefined ? undefined : sql`instr(${resources.searchText}, ${search}) > 0`,
    subjectId === undefined ? undefined : eq(resources.subjectId, subjectId),
    objectId === undefined ? undefined : eq(resources.objectId, objectId),
    isNotDenied(resources.id, denials),
  ) as SQL;
  return readPage(db, { table: resources, filter }, { ...pageRequest, by: resources.createdAt, descending: true });
}

/** Inserts a resource, if all conditions hold. */
export const insertResource = (db: ControlDb, row: ResourceRow, conditions: readonly WriteCondition[]) =>
  insertWhen(db, resources, row, sql.join([sql`true`, ...conditions], sql` and `)).returning();

/** Replaces the version before `row.version`, if it is still current and all conditions hold. */
export const replaceResource = (db: ControlDb, row: ResourceRow, conditions: readonly WriteCondition[]) => {
  const { id: _id, companyId: _companyId, resourceType: _type, createdAt: _at, createdByUserId: _by, ...changes } = row;
  return db
    .update(resources)
    .set(changes)
    .where(and(isResourceWithKey(row), eq(resources.version, row.version - 1), ...conditions))
    .returning();
};

/** Inserts a version, if the previous statement of the batch changed a row. */
export const insertVersion = (db: ControlDb, row: VersionRow) => insertWhen(db, versions, row, HAS_CHANGED_ROWS);

/** Returns the SQL condition that resources have the facets that references require. @param required ids and facets */
export const haveRequiredFacets = (
  companyId: string,
  required: readonly { id: string; facet: string }[],
): WriteCondition =>
  sql`not exists (select 1 from json_each(${JSON.stringify(required)}) as wanted where not exists (
    select 1 from ${resources} as named where named.company_id = ${companyId}
      and named.id = wanted.value ->> 'id' and named.facet = wanted.value ->> 'facet'))`;

/**
 * Returns the SQL condition that following the fields from `ids` does not lead back to the resource. @param ids the ids that the
 * fields, or one of them, are about to contain
 */
export const formsNoCycle = (
  key: ResourceKey,
  fields: readonly string[],
  ids: readonly string[],
): WriteCondition => sql`not exists (
    with recursive reached(id) as (
      select value from json_each(${JSON.stringify(ids)})
      union
      select named.value from reached
        join ${resources} as via on via.id = reached.id and via.company_id = ${key.companyId}
        join json_each(${JSON.stringify(fields.map((field) => `$.${field}`))}) as path
        join json_each(via.content, path.value) as named
    )
    select 1 from reached where id = ${key.id})`;

/** Selects whether `formsNoCycle` holds now. */
export const selectFormsNoCycle = (
  db: ControlDb,
  key: ResourceKey,
  fields: readonly string[],
  ids: readonly string[],
) => db.select({ holds: sql<number>`${formsNoCycle(key, fields, ids)}` }).from(sql`(select 1)`);

/** Reads a page of a resource's versions, newest first. */
export function readVersions(
  db: ControlDb,
  companyId: string,
  resourceId: string,
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(eq(versions.companyId, companyId), eq(versions.resourceId, resourceId)) as SQL;
  return readPage(db, { table: versions, filter }, { ...pageRequest, by: versions.version, descending: true });
}

export const selectVersion = (db: ControlDb, companyId: string, resourceId: string, version: number) =>
  db
    .select()
    .from(versions)
    .where(and(eq(versions.companyId, companyId), eq(versions.resourceId, resourceId), eq(versions.version, version)));

/** Stores the validation errors of this version, where they differ from the stored ones. */
export const setValidationErrors = (db: ControlDb, row: ResourceRow, errors: ValidationError[]) =>
  db
    .update(resources)
    .set({ validationErrors: errors })
    .where(and(isResourceWithKey(row), eq(resources.version, row.version), ne(resources.validationErrors, errors)));
