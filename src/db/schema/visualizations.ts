import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Parameter } from '../../sql-templates/parameters.ts';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';

export const CHART_TYPES = ['table', 'line', 'bar', 'area', 'pie', 'number', 'scatter'] as const;

/** A chart that draws the columns of a result. */
export interface Chart {
  type: (typeof CHART_TYPES)[number];
  x: string | null;
  y: string[];
  series: string | null;
  options: Record<string, unknown>;
}

/** A query on the company's data, with the chart that draws it. The data itself is in the company's own Postgres. */
export const visualizations = sqliteTable(
  'visualizations',
  {
    id: id(),
    companyId: companyId(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    sql: text('sql').notNull(),
    chart: json<Chart>('chart').notNull(),
    parameters: json<Parameter[]>('parameters').notNull(),
    /** When the last embed token that shows it alone expires: until then it is shown to whoever holds one. */
    embeddedUntil: timestamp('embedded_until'),
    /** Counts changes: part of the key of every cached result, and guards against changes that overlap. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('visualizations_slug').on(table.companyId, table.slug),
    index('visualizations_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);
