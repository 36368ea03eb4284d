import { defineFailure } from '../../kernel/failure.ts';

export const visualizationNotFound = defineFailure('visualization.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such visualization.' },
  says: { console: 'VISUALIZATION_NOT_FOUND', sharing: 'NOT_FOUND' },
});

export const visualizationSlugTaken = defineFailure('visualization.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another visualization has this slug.', field: 'slug' },
  says: { console: 'VISUALIZATION_SLUG_DUPLICATE' },
});

export const visualizationInUse = defineFailure('visualization.in_use', {
  kind: 'conflict',
  detail: {
    message: 'The visualization is on a dashboard, or published by an endpoint of the Data API. Remove it there first.',
  },
  says: { console: 'VISUALIZATION_IN_USE' },
});

/** SQL failed whose result is the whole answer. Only its author is told what the database said. */
export const executionFailed = defineFailure('visualization.execution_failed', {
  kind: 'invalid',
  describes: 'The query of the visualization failed, took too long, or is not allowed.',
  detail: (message: string) => ({ message }),
  says: { organization: 'DbQueryError', console: 'DB_QUERY_ERROR', sharing: 'DB_QUERY_ERROR' },
});
