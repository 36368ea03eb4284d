import { notFound, taken } from '../../kernel/failure.ts';

export const dashboardNotFound = notFound('dashboard');
export const dashboardSlugTaken = taken('dashboard', 'slug', { detail: { field: 'slug' } });
