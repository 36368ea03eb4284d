import type { PrincipalContext } from '../../context.ts';
import type { Page } from '../../db/page.ts';
import { type CompanyRecord, exportLog, readLog } from '../company-log/service.ts';

export type AuditEvent = CompanyRecord<'audit'>;

/** The filter of a list of events. Times in milliseconds, both ends included. */
export interface AuditFilter {
  correlationId?: string;
  principalId?: string;
  action?: string;
  from?: number;
  to?: number;
}

/** Returns a page of the requests of the caller's company, the newest first. */
export const listAuditEvents = (
  ctx: PrincipalContext,
  { from, to, ...values }: AuditFilter,
  page: number,
  perPage: number,
): Promise<Page<AuditEvent>> => readLog(ctx, 'audit', { from, to, values: omitUndefinedValues(values) }, page, perPage);

/** Yields all audit events of the caller's company within a period, the newest first. */
export const exportAuditEvents = (
  ctx: PrincipalContext,
  filter: Pick<AuditFilter, 'from' | 'to'>,
): AsyncGenerator<AuditEvent> => exportLog(ctx, 'audit', { ...filter, values: {} });

const omitUndefinedValues = (values: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined));
