import { defineFailure } from '../../kernel/failure.ts';

export const dashboardNotFound = defineFailure('dashboard.not_found', {
  kind: 'missing',
  detail: { message: 'There is no such dashboard.' },
  says: { console: 'DASHBOARD_NOT_FOUND', sharing: 'NOT_FOUND' },
});

export const dashboardSlugTaken = defineFailure('dashboard.slug_taken', {
  kind: 'conflict',
  detail: { message: 'Another dashboard has this slug.', field: 'slug' },
  says: { console: 'DASHBOARD_SLUG_DUPLICATE' },
});
