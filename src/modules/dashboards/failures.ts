import { Failure } from '../../kernel/failure.ts';

export const dashboardNotFound = () => new Failure('missing', 'dashboard.not_found');

export const dashboardSlugTaken = () => new Failure('conflict', 'dashboard.slug_taken', { field: 'slug' });

/** Somebody changed it, or what stands on it, at the same moment, again and again. */
export const dashboardBusy = () => new Failure('conflict', 'dashboard.changed_meanwhile');
