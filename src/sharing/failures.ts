import { defineFailure } from '../kernel/failure.ts';

/**
 * The failure where a viewer sends a filter or value that they may not choose. @param slug only a slug that the viewer sent:
 * other slugs may be names that the viewer must not learn
 */
export const policyViolation = defineFailure('sharing.policy_violation', 'forbidden', {
  message: 'The viewer may not choose this filter or value.',
  detail: (slug?: string) => ({ ...(slug !== undefined && { filter_slug: slug }) }),
  sharing: 'SHARE_FILTER_POLICY_VIOLATION',
});

export const downloadsDisabled = defineFailure('sharing.downloads_disabled', 'forbidden', {
  message: 'Results cannot be downloaded here.',
  sharing: 'DOWNLOADS_DISABLED',
});

export const filterNotFound = defineFailure('sharing.filter_not_found', 'missing', {
  message: 'There is no such filter, or it has no options.',
  console: 'FILTER_NOT_FOUND',
});

export const filterDisabled = defineFailure('sharing.filter_disabled', 'forbidden', {
  message: 'This filter is not available.',
  sharing: 'FILTER_DISABLED_BY_POLICY',
});
