import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { ownedColumns, timestampColumns } from '../columns.ts';
import { visualizations } from './visualizations.ts';

export const ENDPOINT_STATUSES = ['active', 'inactive'] as const;

/** Visualizations that programs read at an address of their own. The foreign key prevents their deletion. */
export const vizApiEndpoints = sqliteTable(
  'viz_api_endpoints',
  {
    ...ownedColumns(),
    name: text('name').notNull(),
    slug: text('slug').notNull(),
    description: text('description').notNull(),
    visualizationId: text('visualization_id')
      .notNull()
      .references(() => visualizations.id),
    /** Seconds for which a cached result may be answered. */
    cacheSeconds: integer('cache_seconds').notNull(),
    status: text('status', { enum: ENDPOINT_STATUSES }).notNull(),
    /** Number of changes: part of the key of every cached result, and a guard against concurrent changes. */
    version: integer('version').notNull().default(1),
    ...timestampColumns(),
  },
  (table) => [
    uniqueIndex('viz_api_endpoints_slug').on(table.companyId, table.slug),
    index('viz_api_endpoints_by_creation').on(table.companyId, table.createdAt, table.id),
    index('viz_api_endpoints_of_visualization').on(table.visualizationId),
  ],
);
