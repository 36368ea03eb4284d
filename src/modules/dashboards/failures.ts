import { defineTaken, notFound } from '../../kernel/failure.ts';

export const dashboardNotFound = notFound('dashboard');
export const dashboardSlugTaken = defineTaken('dashboard', 'slug', { detail: { field: 'slug' } });
