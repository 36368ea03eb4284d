import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Parameter } from '../../sql-templates/parameters.ts';
import { jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';

export const CHART_TYPES = ['table', 'line', 'bar', 'area', 'pie', 'number', 'scatter'] as const;

/** Chart that draws the columns of a result. */
export interface Chart {
  type: (typeof CHART_TYPES)[number];
  x: string | null;
  y: string[];
  series: string | null;
  options: Record<string, unknown>;
}

/** Visualizations: a query on the company's data, and the chart that draws it. The data is in the company's own Postgres. */
export const visualizations = sqliteTable(
  'visualizations',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    sql: text('sql').notNull(),
    chart: jsonColumn<Chart>('chart').notNull(),
    parameters: jsonColumn<Parameter[]>('parameters').notNull(),
    /** Time at which the last embed token for this one alone expires: until then, its holders see the visualization. */
    embeddedUntil: timestampColumn('embedded_until'),
    /** Number of changes: part of the key of every cached result, and a guard against concurrent changes. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('visualizations_slug').on(table.companyId, table.slug),
    index('visualizations_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);
