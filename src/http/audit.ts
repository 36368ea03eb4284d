import type { MiddlewareHandler } from 'hono';
import { formatCredential } from '../access/known-principals.ts';
import type { Bindings } from '../config.ts';
import { clock } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import type { AuditRecord } from '../logs/audit-record.ts';
import { log, logError } from '../platform/log.ts';
import { getAction } from './endpoint.ts';
import type { HttpEnv } from './mount.ts';
import { listParameters } from './paths.ts';
import type { RequestFacts } from './request-checks.ts';

/** Hands a record over; it is kept once this resolves. */
export type StoreAuditRecord = (bindings: Bindings, record: AuditRecord) => Promise<void>;

/** Longest method that is recorded: clients may send any word. */
const METHOD_LENGTH = 16;
const RESOURCE_ID = /^[\w-]{1,64}$/;

/** The action under which the audit trail records a dry run of a write. */
const DRY_RUN = 'access:dry_run';

/** Leaves a record of every request, handed over after the answer: nobody waits for it. */
export const auditRequests =
  (keep: StoreAuditRecord): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    const occurredAt = clock.now();
    await next();
    const facts = c.get('facts');
    const { contract, performed, resourceIds, recordedAs, isDryRun } = facts;
    const asks = performed?.contract ?? contract;
    const principal = toPrincipal(facts);
    const record: AuditRecord = {
      id: newId(occurredAt),
      correlationId: c.get('correlationId'),
      occurredAt,
      ...principal,
      method: c.req.method.slice(0, METHOD_LENGTH),
      route: contract?.path ?? null,
      action: isDryRun
        ? DRY_RUN
        : (recordedAs?.action ?? (asks ? (getAction(asks.access) ?? asks.recordedAs ?? null) : null)),
      resourceId: joinOwnIds(principal.companyId, [...resourceIds, ...(recordedAs?.ids ?? [])]),
      status: performed?.status ?? c.res.status,
      ip: c.req.header('cf-connecting-ip') ?? null,
      durationMs: clock.now() - occurredAt,
      count: 1,
      used: { requests: isAuthenticatedCaller(facts) ? 1 : 0, executions: facts.meter.executions },
    };
    facts.meter.isTold = true;
    c.executionCtx.waitUntil(
      keep(c.env, record).catch((error) => {
        // What nothing takes is not lost: the Worker's log has it.
        logError('audit_record_not_kept', error);
        log('audit_record', { ...record });
      }),
    );
  };

/** An id that says whose it is. */
const COMPANY_ID_PREFIX = /^(?<company>[a-f0-9]{24})-/;

/**
 * The resource ids for a record of the audit trail. The record outlives other companies and must not name their resources: it has
 * no ids where it belongs to no company, else none that begin with the id of another company.
 */
function joinOwnIds(companyId: string | null, ids: readonly string[]): string | null {
  const own = ids.filter((id) => (COMPANY_ID_PREFIX.exec(id)?.groups?.company ?? companyId) === companyId);
  return companyId !== null && own.length > 0 ? own.join('/') : null;
}

/** Whether the caller is an authenticated user, service account or outsider. */
const isAuthenticatedCaller = ({ actor }: RequestFacts): boolean =>
  actor?.kind === 'user' || actor?.kind === 'service_account' || actor?.kind === 'outsider';

/** The ids that a path, a body or an answer gives: those of them that are such as we mint. */
export const collectIds = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((id) => typeof id === 'string' && RESOURCE_ID.test(id));

/** The parameters of a path that name resources; never one that is a secret, such as `{token}`. */
export const listResourceParameters = (path: string): string[] =>
  listParameters(path).filter((name) => /^(id|\w+(_id|Id))$/.test(name));

type AuditPrincipal = Pick<AuditRecord, 'companyId' | 'principalType' | 'principalId' | 'credential'>;

function toPrincipal({ actor, owner }: RequestFacts): AuditPrincipal {
  switch (actor?.kind) {
    case 'user':
    case 'service_account':
    case 'outsider': {
      const credential = actor.kind === 'outsider' ? actor.sessionId : formatCredential(actor);
      return { companyId: actor.companyId, principalType: actor.kind, principalId: actor.id, credential };
    }
    case 'viewer':
      return { companyId: actor.companyId, principalType: 'anonymous', principalId: null, credential: actor.tokenId };
    case 'operator':
      return { companyId: owner?.companyId ?? null, principalType: 'operator', principalId: null, credential: null };
    default: {
      const { type = 'anonymous', id = null, credential = null } = owner?.principal ?? {};
      return { companyId: owner?.companyId ?? null, principalType: type, principalId: id, credential };
    }
  }
}
