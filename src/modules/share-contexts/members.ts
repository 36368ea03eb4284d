import { isDenied } from '../../access/denials.ts';
import type { PrincipalContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import { concurrentChange } from '../../db/failures.ts';
import type { Page } from '../../db/page.ts';
import { ID_PATTERN } from '../../kernel/ids.ts';
import type { ViewerAttributes } from '../../sharing/viewer-attributes.ts';
import { groupNotFound } from '../groups/service.ts';
import { selectUser, userNotFound } from '../users/service.ts';
import { requireNotDenied } from '../visualizations/service.ts';
import { memberExists, memberNotFound, tooManyMembers } from './failures.ts';
import { findDeniedMembers, getContext, makeContextEvent, requireSharableContext } from './service.ts';
import {
  countMembers,
  deleteMember,
  insertMember,
  type MemberRow,
  type MemberSearch,
  readMembers,
  type ShareMember,
  selectGrantedDashboards,
  selectGroup,
  selectMember,
} from './store.ts';

export type { ShareMember };

/** The maximum number of members of a context. */
const MAX_MEMBERS = 10_000;

/** A user or group of the company by id, or a lower-case address from outside. */
export type NewMember = Pick<MemberRow, 'memberType' | 'subject'> & { attributes: ViewerAttributes };

/** Lists a page of a context's members. */
export async function listMembers(
  ctx: PrincipalContext,
  contextId: string,
  memberSearch: MemberSearch,
): Promise<Page<ShareMember>> {
  return readMembers(ctx.db, await getContext(ctx, contextId), {
    ...memberSearch,
    deniedMembers: findDeniedMembers(ctx),
  });
}

/** Returns a context that shows nothing denied to the caller, and its dashboards. @throws if the caller may not add members */
export async function requireContextToAddMember(ctx: PrincipalContext, id: string) {
  const context = await getContext(ctx, id);
  const dashboards = await selectGrantedDashboards(ctx.db, context);
  requireNotDenied(
    ctx,
    [
      ...context.grants.flatMap(({ target_type, target_id }) => (target_type === 'visualization' ? [target_id] : [])),
      ...dashboards.flatMap(({ visualizationIds }) => visualizationIds),
    ],
    ['visualizations:share', 'visualizations:get', 'visualizations:execute'],
  );
  return { context, dashboards };
}

/** Adds a member, who then sees everything that the context shows; the caller must be denied none of it. */
export async function addMember(ctx: PrincipalContext, contextId: string, member: NewMember): Promise<ShareMember> {
  const { context, dashboards } = await requireContextToAddMember(ctx, contextId);
  const nameAndEmail = await readNameAndEmail(ctx, member);
  const record: MemberRow = {
    ...member,
    id: ctx.newId(),
    companyId: ctx.actor.companyId,
    contextId,
    attributes: Object.keys(member.attributes).length > 0 ? member.attributes : null,
    createdAt: ctx.now(),
  };
  const result = { ...record, ...nameAndEmail };
  const event = makeContextEvent(ctx, 'member.added', context, toEventDetails(result));
  const unit = {
    added: insertMember(ctx.db, record, context, { maxCount: MAX_MEMBERS, dashboards }),
    told: event.statement,
  };
  const { added, told } = await commit(ctx.db, unit, { 'share_members.subject': memberExists });
  if (added.length === 0) {
    const [counted] = await countMembers(ctx.db, context);
    throw counted && counted.members >= MAX_MEMBERS ? tooManyMembers(MAX_MEMBERS) : concurrentChange();
  }
  event.send(told);
  return result;
}

/** Removes a member, who sees nothing of the context from then on. */
export async function removeMember(ctx: PrincipalContext, contextId: string, id: string): Promise<void> {
  const context = await requireSharableContext(ctx, contextId);
  const [member] = await selectMember(ctx.db, context, id);
  if (!member) throw memberNotFound();
  const email = member.memberType === 'external_email' ? member.subject : null;
  const event = makeContextEvent(ctx, 'member.removed', context, toEventDetails({ ...member, email }));
  const { removed, told } = await commit(ctx.db, {
    removed: deleteMember(ctx.db, context, id),
    told: event.statement,
  });
  if (removed.length === 0) throw memberNotFound();
  event.send(told);
}

async function readNameAndEmail(
  ctx: PrincipalContext,
  { memberType, subject }: NewMember,
): Promise<Pick<ShareMember, 'name' | 'email'>> {
  if (memberType === 'external_email') return { name: null, email: subject };
  const { companyId } = ctx.actor;
  const id = ID_PATTERN.test(subject) ? subject : '';
  if (memberType === 'group') {
    const [group] = await selectGroup(ctx.db, companyId, id);
    if (!group || isDenied(ctx.actor, 'group', id)) throw groupNotFound('member_id');
    return { name: group.name, email: null };
  }
  const [user] = await selectUser(ctx.db, companyId, id);
  if (!user || isDenied(ctx.actor, 'user', id)) throw userNotFound('member_id');
  return { name: user.name, email: user.email };
}

/** Returns the id of a user or group; null for an address from outside. */
export const getMemberId = ({ memberType, subject }: Pick<MemberRow, 'memberType' | 'subject'>): string | null =>
  memberType === 'external_email' ? null : subject;

const toEventDetails = (member: Omit<ShareMember, 'name'>) => ({
  member_id: getMemberId(member),
  member_type: member.memberType,
  email: member.email,
});
