import type { UserActor } from '../../access/actors.ts';
import { isDenied } from '../../access/denials.ts';
import { compileAccess } from '../../access/evaluation.ts';
import { isAllowed } from '../../access/requirements.ts';
import { selectAccess, toAccessSources } from '../../access/sources.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { readTogether } from '../../db/client.ts';
import type { RunProblem } from '../../db/schema/schedules.ts';
import { Failure, type FieldProblem } from '../../kernel/failure.ts';
import type { ViewerRules } from '../../sharing/rules.ts';
import { computeBoundValues } from '../../sharing/values.ts';
import { selectCompany } from '../companies/service.ts';
import { makeAddressRules } from '../share-portal/service.ts';
import { selectUser } from '../users/service.ts';
import {
  getSharedRecord,
  type MailedExecution,
  makeRules,
  prepareMailedExecution,
  type SharedItem,
} from '../viewing/service.ts';
import type { Recipient } from './store.ts';

/** A recipient who may see the results of a schedule. */
export interface ResultReader {
  email: string;
  name: string;
  view: MailedExecution;
  /** Whether the recipient may get files: an outsider only where downloads are allowed. */
  mayGetFiles: boolean;
}

/** The permission that a user needs to see an item of each type; the routes that execute the item require it, too. */
export const VIEW_ACTIONS = { dashboard: 'dashboards:get', visualization: 'visualizations:execute' } as const;

/**
 * Prepares the results that a recipient may see at present: a user by the user's own access, an address by the context
 * that grants the item. The access of the schedule's maker does not matter. @returns the reason why the recipient may
 * see nothing, if so
 */
export async function resolveResultReader(
  ctx: CompanyContext,
  item: SharedItem,
  parameters: Record<string, unknown>,
  { kind, subject }: Recipient,
): Promise<ResultReader | RunProblem> {
  if (kind === 'email') {
    const rules = await makeAddressRules(ctx, item, subject);
    if (!rules) return 'not_allowed';
    return prepareView(ctx, item, rules, parameters, { email: subject, name: '', mayGetFiles: rules.allowsDownloads });
  }
  const actor = await readUserActor(ctx, subject);
  if (!actor) return 'left';
  if (!isAllowed(actor, VIEW_ACTIONS[item.type], getSharedRecord(item).id)) return 'not_allowed';
  const { email, name } = actor;
  return prepareView({ ...ctx, actor }, item, makeInsiderRules(item), parameters, { email, name, mayGetFiles: true });
}

const makeInsiderRules = (item: SharedItem): ViewerRules => makeRules(item, { isInsider: true });

async function prepareView(
  ctx: CompanyContext,
  item: SharedItem,
  rules: ViewerRules,
  parameters: Record<string, unknown>,
  reader: Omit<ResultReader, 'view'>,
): Promise<ResultReader | RunProblem> {
  try {
    return { ...reader, view: await prepareMailedExecution(ctx, item, rules, parameters) };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return error.kind === 'forbidden' ? 'not_allowed' : 'parameters';
  }
}

/** Reads a user who can sign in, with their present permissions. */
async function readUserActor({ db, actor: { companyId } }: CompanyContext, id: string): Promise<UserActor | undefined> {
  const {
    user: [user],
    company: [company],
    access,
  } = await readTogether(db, {
    user: selectUser(db, companyId, id),
    company: selectCompany(db, companyId),
    access: selectAccess(db, { companyId, principalType: 'user', principalId: id }),
  });
  if (!user?.isActive || !company) return undefined;
  return {
    kind: 'user',
    id,
    companyId,
    companySlug: company.slug,
    email: user.email,
    name: user.name,
    isOwner: user.isOwner,
    sessionId: '',
    access: compileAccess(toAccessSources(companyId, user.isOwner, access)),
  };
}

/**
 * What has to be checked of a schedule: what the change is about. A target that has changed since, or a recipient who has
 * left, does not keep others from changing the rest.
 */
export interface TargetChecks {
  /** Whether the parameters and the condition must fit the target. */
  mustCheckTarget: boolean;
  mustCheckRecipient: (recipient: Recipient) => boolean;
}

/** Finds the problems of recipients and parameters for an item to send. */
export async function findRecipientProblems(
  ctx: PrincipalContext,
  item: SharedItem,
  parameters: Record<string, unknown>,
  recipients: readonly Recipient[],
  { mustCheckTarget, mustCheckRecipient }: TargetChecks,
): Promise<FieldProblem[]> {
  const problems: FieldProblem[] = [];
  // Throws what is wrong with the parameters for people of the company.
  if (recipients.some((recipient) => recipient.kind === 'user' && (mustCheckTarget || mustCheckRecipient(recipient))))
    computeBoundValues(makeInsiderRules(item), parameters);
  for (const [at, recipient] of recipients.entries()) {
    if (!mustCheckRecipient(recipient)) continue;
    const { kind, subject } = recipient;
    if (kind === 'user') {
      const [user] = await selectUser(ctx.db, ctx.actor.companyId, subject);
      if (!user || isDenied(ctx.actor, 'user', subject))
        problems.push({ field: `recipients.${at}.user_id`, message: 'must be a user of the company' });
      continue;
    }
    const reader = await resolveResultReader(
      { ...ctx, actor: { kind: 'system', companyId: ctx.actor.companyId } },
      item,
      parameters,
      recipient,
    );
    const message = typeof reader === 'string' ? REFUSAL_MESSAGES[reader] : undefined;
    if (message) problems.push({ field: `recipients.${at}.email`, message });
  }
  return problems;
}

const REFUSAL_MESSAGES: Partial<Record<RunProblem, string>> = {
  not_allowed: 'must be a member of a share context that grants this, and lets the member see it with these parameters',
  parameters: 'is a member of a share context that does not allow these parameters',
};
