import type { MiddlewareHandler } from 'hono';
import type { Bindings } from '../config.ts';
import { type Actor, clock } from '../context.ts';
import type { AuditRecord } from '../kernel/audit-record.ts';
import { newId } from '../kernel/ids.ts';
import { log, logError } from '../platform/log.ts';
import { actionOf } from './endpoint.ts';
import type { HttpEnv } from './mount.ts';

/** Hands a record over; it is kept once this resolves. */
export type KeepRecord = (bindings: Bindings, record: AuditRecord) => Promise<void>;

/** Longest method that is written down: clients may send any word. */
const METHOD_LENGTH = 16;
const RESOURCE_ID = /^[\w-]{1,64}$/;

/** Leaves a record of every request, handed over after the answer: nobody waits for it. */
export const audited =
  (keep: KeepRecord): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const occurredAt = clock.now();
    await next();
    const { contract, actor, resourceId } = c.get('seen');
    const record: AuditRecord = {
      id: newId(occurredAt),
      correlationId: c.get('correlationId'),
      occurredAt,
      ...principalOf(actor),
      method: c.req.method.slice(0, METHOD_LENGTH),
      route: contract?.path ?? null,
      action: contract ? actionOf(contract.access) : null,
      resourceId,
      status: c.res.status,
      ip: c.req.header('cf-connecting-ip') ?? null,
      durationMs: clock.now() - occurredAt,
    };
    c.executionCtx.waitUntil(
      keep(c.env, record).catch((error) => {
        // What cannot be queued is not lost: the log has it.
        logError('audit_record_not_queued', error);
        log('audit_record', { ...record });
      }),
    );
  };

/** The id that a path or an answer gives a resource, or null where it is nothing that we mint. */
export function resourceIdOf(value: unknown): string | null {
  return typeof value === 'string' && RESOURCE_ID.test(value) ? value : null;
}

/** The parameter of a path that names the resource; never one that is a secret, such as `{token}`. */
export function resourceParameter(path: string): string | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
  return names.find((name) => /^(id|\w+(_id|Id))$/.test(name));
}

function principalOf(
  actor: Actor | null,
): Pick<AuditRecord, 'companyId' | 'principalType' | 'principalId' | 'credential'> {
  switch (actor?.kind) {
    case 'user':
      return known(actor.companyId, 'user', actor.id, actor.sessionId);
    case 'service_account':
      return known(actor.companyId, 'service_account', actor.id, actor.keyId);
    case 'outsider':
      return known(actor.companyId, 'outsider', actor.id, actor.sessionId);
    case 'viewer':
      return { companyId: actor.companyId, principalType: 'anonymous', principalId: null, credential: actor.tokenId };
    case 'operator':
      return { companyId: null, principalType: 'operator', principalId: null, credential: null };
    default:
      return { companyId: null, principalType: 'anonymous', principalId: null, credential: null };
  }
}

const known = (
  companyId: string,
  principalType: AuditRecord['principalType'],
  principalId: string,
  credential: string,
) => ({
  companyId,
  principalType,
  principalId,
  credential,
});
