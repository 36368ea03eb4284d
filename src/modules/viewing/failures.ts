import { accessDenied } from '../../access/failures.ts';
import { defineFailure } from '../../kernel/failure.ts';
import { downloadsDisabled, filterDisabled, filterNotFound, policyViolation } from '../../sharing/failures.ts';
import { tenantSqlFailures, userSqlFailures } from '../../tenant-sql/failures.ts';
import { databaseNotProvisioned } from '../managed-database/failures.ts';
import { executionFailed } from '../visualizations/failures.ts';

export const originNotAllowed = defineFailure('share.origin_not_allowed', 'forbidden', {
  message: 'This site is not one of the allowed origins.',
  sharing: 'ORIGIN_NOT_ALLOWED',
});

export const tooManyViewers = defineFailure('viewing.busy', 'unavailable', {
  message: 'Too many people are viewing this at the moment. Try again in a few seconds.',
  detail: { retryAfter: 5 },
});

const databaseFailures = [databaseNotProvisioned, ...tenantSqlFailures, tooManyViewers];

/** The failures of `executeForViewer`, besides bad parameters. */
export const executionFailures = [policyViolation, ...databaseFailures];

/** The failures of `executeForViewer` where a file is requested. */
export const downloadFailures = [downloadsDisabled, executionFailed, accessDenied];

/** The failures of `listFilterOptions`. */
export const optionFailures = [filterNotFound, filterDisabled, ...databaseFailures, ...userSqlFailures];
