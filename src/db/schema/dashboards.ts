import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import type { Parameter } from '../../sql-templates/parameters.ts';
import { companyId, id, json, timestamp, timestamps } from '../columns.ts';
import { visualizations } from './visualizations.ts';

/** The place of a visualization on a dashboard, in units of the grid. */
export interface Widget {
  visualization_id: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface FilterOption {
  label: string;
  value: string;
}

/** A filter by which viewers of a dashboard choose its data. */
export interface Filter extends Parameter {
  options: FilterOption[] | { sql: string } | null;
  /** The visualizations that the filter is for; null for all. */
  applies_to: string[] | null;
}

export const dashboards = sqliteTable(
  'dashboards',
  {
    id: id(),
    companyId: companyId(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    /** The time for which outsiders may be shown a cached result. */
    cacheSeconds: integer('cache_seconds').notNull(),
    layout: json<Widget[]>('layout').notNull(),
    filters: json<Filter[]>('filters').notNull(),
    /** When the last of its embed tokens ends: until then it is shown to whoever holds one. */
    embeddedUntil: timestamp('embedded_until'),
    /** Counts changes: part of the key of every cached result, and guards against changes that overlap. */
    version: integer('version').notNull().default(1),
    createdByUserId: text('created_by_user_id').notNull(),
    ...timestamps(),
  },
  (table) => [
    uniqueIndex('dashboards_slug').on(table.companyId, table.slug),
    index('dashboards_by_creation').on(table.companyId, table.createdAt, table.id),
  ],
);

/** The visualizations on each dashboard: the foreign key keeps them from being deleted. */
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
