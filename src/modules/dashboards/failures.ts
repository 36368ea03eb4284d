import { defineNotFound, defineTaken } from '../../kernel/failure.ts';

export const dashboardNotFound = defineNotFound('dashboard');
export const dashboardSlugTaken = defineTaken('dashboard', 'slug', { detail: { field: 'slug' } });
