import { defineFailure } from '../kernel/failure.ts';

/** @param slug only one that the viewer sent: others may be names that the viewer must not learn */
export const policyViolation = defineFailure('sharing.policy_violation', {
  kind: 'forbidden',
  describes: 'The viewer may not choose this filter or value.',
  detail: (slug?: string) => ({
    ...(slug !== undefined && { filter_slug: slug }),
  }),
  says: { sharing: 'SHARE_FILTER_POLICY_VIOLATION' },
});

export const downloadsDisabled = defineFailure('sharing.downloads_disabled', {
  kind: 'forbidden',
  detail: { message: 'Results cannot be downloaded here.' },
  says: { sharing: 'DOWNLOADS_DISABLED' },
});

export const filterNotFound = defineFailure('sharing.filter_not_found', {
  kind: 'missing',
  detail: { message: 'There is no such filter, or it has no options.' },
  says: { sharing: 'NOT_FOUND' },
});

export const filterDisabled = defineFailure('sharing.filter_disabled', {
  kind: 'forbidden',
  detail: { message: 'This filter is not available.' },
  says: { sharing: 'FILTER_DISABLED_BY_POLICY' },
});
