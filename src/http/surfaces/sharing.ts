import { z } from 'zod';
import type { UserActor } from '../../context.ts';
import { endpointFor } from '../endpoint.ts';
import { detailsOf, REQUEST_REASONS, STATUS, type Surface, UPPER_CASE_CODES, type Wording } from '../surface.ts';

/** Endpoints of sharing and embedding that people of the company call with their session token. */
export const endpoint = endpointFor<UserActor>();

const REASONS: Record<string, Wording> = {
  ...REQUEST_REASONS,
  'sharing.policy_violation': [403, 'SHARE_FILTER_POLICY_VIOLATION'],
  'sharing.filter_disabled': [403, 'FILTER_DISABLED_BY_POLICY'],
  'sharing.filter_not_found': [404, 'NOT_FOUND'],
  'people_sql.failed': [422, 'DB_QUERY_ERROR'],
  'people_sql.refused': [422, 'DB_QUERY_ERROR'],
  'people_sql.timeout': [422, 'DB_QUERY_ERROR'],
  'people_sql.too_large': [422, 'DB_QUERY_ERROR'],
};

export const surface: Surface = {
  name: 'sharing',
  title: 'Sharing and embedding',
  credential: 'bearer',
  errorBody: z
    .object({ error_code: z.string(), message: z.string(), details: z.unknown().optional() })
    .meta({ id: 'SharingError' }),
  word(failure) {
    const [status, code, message] = REASONS[failure.reason] ?? [STATUS[failure.kind], UPPER_CASE_CODES[failure.kind]];
    const details = detailsOf(failure);
    return {
      status,
      body: { error_code: code, message: message ?? failure.message, ...(details !== undefined && { details }) },
    };
  },
  internalError: { error_code: 'INTERNAL_ERROR', message: 'Something went wrong on our side.' },
};
