import type { Context } from '../../context.ts';
import { managedPolicyNamed } from '../../kernel/managed-policies.ts';
import { attachPolicy, type Group, type GroupBinding, insertBinding, insertGroup } from './store.ts';

export type { Group, GroupBinding };

const GLOBAL_GROUPS = {
  administrators: { policy: 'FullAdmin', description: 'May do everything in the company.' },
  viewers: { policy: 'ReadOnly', description: 'May see everything in the company, and change nothing.' },
} as const;

/** One of the groups every company is born with, and the statements that store it with its policy. */
export function prepareGlobalGroup(ctx: Context, companyId: string, name: keyof typeof GLOBAL_GROUPS) {
  const { policy, description } = GLOBAL_GROUPS[name];
  const now = ctx.now();
  const record: Group = {
    id: ctx.newId(),
    companyId,
    name,
    slug: name,
    description,
    isGlobal: true,
    roles: [],
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
  const statements = [
    insertGroup(ctx.db, record),
    attachPolicy(ctx.db, companyId, record.id, managedPolicyNamed(policy).id),
  ] as const;
  return { record, statements };
}

/** A membership and the statement that stores it. */
export function prepareBinding(ctx: Context, member: Omit<GroupBinding, 'id' | 'createdAt'>) {
  const record: GroupBinding = { ...member, id: ctx.newId(), createdAt: ctx.now() };
  return { record, statement: insertBinding(ctx.db, record) };
}
