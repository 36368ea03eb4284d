import { defineFailure, defineNotFoundFailure, defineTakenFailure } from '../../kernel/failure.ts';

export const visualizationNotFound = defineNotFoundFailure('visualization');
export const visualizationSlugTaken = defineTakenFailure('visualization', 'slug', { detail: { field: 'slug' } });

export const visualizationInUse = defineFailure('visualization.in_use', 'conflict', {
  message: 'The visualization is on a dashboard, or published by an endpoint of the Data API. Remove it there first.',
  console: 'VISUALIZATION_IN_USE',
});

/** The failure of SQL that is not saved. Its author gets the database's whole message. */
export const previewFailed = defineFailure('visualization.preview_failed', 'invalid', {
  message: 'The query failed, took too long, or is not allowed.',
  detail: (message: string, position: number | undefined) => ({ message, position: position ?? null }),
  console: 'DB_QUERY_ERROR',
});

/** The failure of the SQL of a single result. Only the author of the SQL gets the database's message. */
export const executionFailed = defineFailure('visualization.execution_failed', 'invalid', {
  message: 'The query of the visualization failed, took too long, or is not allowed.',
  detail: (message: string) => ({ message }),
  organization: 'DbQueryError',
  console: 'DB_QUERY_ERROR',
  sharing: 'DB_QUERY_ERROR',
});
