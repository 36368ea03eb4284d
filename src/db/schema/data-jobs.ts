import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { BoundValue } from '../../sql-templates/parameters.ts';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

/** The formats in which a result can be read. */
export const DATA_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type DataFormat = (typeof DATA_FORMATS)[number];

export const DATA_JOB_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;

/** Results of the Data API that are written to R2 in the background. */
export const dataJobs = sqliteTable(
  'data_jobs',
  {
    ...ownedColumns(),
    endpointId: text('endpoint_id').notNull(),
    /** Slug of the endpoint when the job was created, used as the file's name. */
    slug: text('slug').notNull(),
    visualizationId: text('visualization_id').notNull(),
    format: text('format', { enum: DATA_FORMATS }).notNull(),
    values: jsonColumn<[slug: string, value: BoundValue][]>('bound_values').notNull(),
    status: text('status', { enum: DATA_JOB_STATUSES }).notNull(),
    /** Number of tries: each try writes under a prefix of its own, and only the last try may store the outcome. */
    attempt: integer('attempt').notNull(),
    /** Time at which the scheduled run checks the job, unless it has ended. */
    dueAt: timestampColumn('due_at').notNull(),
    rowCount: integer('row_count'),
    bytes: integer('bytes'),
    /** Number of objects in R2 that hold the result; null before the job succeeds. */
    pieces: integer('pieces'),
    error: text('error'),
    ...timestampColumns(),
  },
  (table) => [
    index('data_jobs_of_company').on(table.companyId, table.status),
    index('data_jobs_by_due').on(table.status, table.dueAt),
    index('data_jobs_by_age').on(table.createdAt),
  ],
);
