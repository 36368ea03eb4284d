import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Parameter } from '../../sql-templates/parameters.ts';
import { companyId, jsonColumn, ownedColumns, timestampColumn, timestampColumns } from '../columns.ts';
import { visualizations } from './visualizations.ts';

/** Position of a visualization on a dashboard, in units of the grid. */
export interface Widget {
  visualization_id: string;
  /** The column of the grid at which the widget begins. */
  x: number;
  /** The row of the grid at which the widget begins. */
  y: number;
  /** The width in columns of the grid. */
  w: number;
  /** The height in rows of the grid. */
  h: number;
}

export interface FilterOption {
  label: string;
  value: string;
}

/** Filter by which viewers of a dashboard choose its data. */
export interface Filter extends Parameter {
  options: FilterOption[] | { sql: string } | null;
  /** Ids of the visualizations that the filter applies to; null for all. */
  applies_to: string[] | null;
}

export const dashboards = sqliteTable(
  'dashboards',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    /** Seconds for which outsiders may be shown a cached result. */
    cacheSeconds: integer('cache_seconds').notNull(),
    layout: jsonColumn<Widget[]>('layout').notNull(),
    filters: jsonColumn<Filter[]>('filters').notNull(),
    /** Time at which the last embed token expires: until then, its holders see the dashboard. */
    embeddedUntil: timestampColumn('embedded_until'),
    /** Number of changes: part of the key of every cached result, and a guard against concurrent changes. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('dashboards_slug').on(table.companyId, table.slug),
    index('dashboards_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);

/** Visualizations on each dashboard: the foreign key prevents their deletion. */
export const dashboardVisualizations = sqliteTable(
  'dashboard_visualizations',
  {
    companyId: companyId(),
    dashboardId: text('dashboard_id').notNull(),
    visualizationId: text('visualization_id')
      .notNull()
      .references(() => visualizations.id),
  },
  (table) => [
    primaryKey({ columns: [table.dashboardId, table.visualizationId] }),
    index('dashboard_visualizations_of_visualization').on(table.visualizationId),
  ],
);
