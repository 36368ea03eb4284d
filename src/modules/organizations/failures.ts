import { unknownRoute } from '../../access/failures.ts';
import { defineFailure, defineNotFoundFailure } from '../../kernel/failure.ts';
import { formatIsoTimestamp } from '../../kernel/fields.ts';

export const wrongOperatorToken = defineFailure('operator.wrong_token', 'unauthenticated', {
  message: 'This needs the platform operator’s token.',
});

export const organizationNotFound = defineNotFoundFailure('organization');

export const organizationDeleting = defineFailure('organization.deleting', 'conflict', {
  message: 'This organization is being deleted.',
  detail: (deletesAt?: number) => ({
    reason: 'deleting',
    ...(deletesAt !== undefined && { deletes_at: formatIsoTimestamp(deletesAt) }),
  }),
});

export const organizationNotDeleting = defineFailure('organization.not_deleting', 'conflict', {
  message: 'This organization is not being deleted.',
  detail: { reason: 'not_deleting' },
});

/** The erasure has begun, so that the organization can no longer be restored. */
export const erasureBegun = defineFailure('organization.erasure_begun', 'conflict', {
  message: 'The erasure of this organization has begun: it cannot be restored any more.',
  detail: { reason: 'erasure_begun' },
});

export const certificateNotFound = defineNotFoundFailure('certificate', {
  message: 'There is no certificate: no organization of this id has been erased.',
});

/** The failures of routes for the platform's operator; if no operator token is configured, these routes do not exist. */
export const operatorFailures = [unknownRoute, wrongOperatorToken];

export const userActive = defineFailure('user.active', 'conflict', {
  message: 'Somebody of this address can still sign in. Deactivate or delete the user first.',
  detail: { field: 'email', reason: 'active' },
  console: 'USER_ACTIVE',
});
