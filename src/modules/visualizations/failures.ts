import { Failure } from '../../kernel/failure.ts';

export const visualizationNotFound = () => new Failure('missing', 'visualization.not_found');

export const visualizationSlugTaken = () => new Failure('conflict', 'visualization.slug_taken', { field: 'slug' });

/** It stands on a dashboard, and may not be deleted as long as it does. */
export const visualizationInUse = () => new Failure('conflict', 'visualization.in_use');

/** Somebody changed it at the same moment, again and again. */
export const visualizationBusy = () => new Failure('conflict', 'visualization.changed_meanwhile');
