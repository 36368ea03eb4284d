import { defineNotFoundFailure, defineTakenFailure } from '../../kernel/failure.ts';

export const dashboardNotFound = defineNotFoundFailure('dashboard');
export const dashboardSlugTaken = defineTakenFailure('dashboard', 'slug', { detail: { field: 'slug' } });
