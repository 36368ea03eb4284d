import { type ConstraintFailures, type ControlDb, commit, type Results, type Unit } from '../db/client.ts';

/** The principals of a company whose access a unit of work changes, or everybody in it. */
export interface AffectedPrincipals {
  companyId: string;
  principals: readonly string[] | 'everybody';
}

/** The part of a context that a change of access needs. */
export interface AccessChangeContext {
  db: ControlDb;
  changeAccess<T>(affected: AffectedPrincipals, work: () => Promise<T>): Promise<T>;
}

/** Like `commit`, for changes of access: requests that start afterwards do not go by the previous permissions. */
export const commitAccess = <const U extends Unit>(
  ctx: AccessChangeContext,
  affected: AffectedPrincipals,
  unit: U,
  failures: ConstraintFailures = {},
): Promise<Results<U>> => ctx.changeAccess(affected, () => commit(ctx.db, unit, failures));

/** Everybody in a company: the permissions of a group or a policy reach all who are bound to it. */
export const makeAffectedEverybody = (companyId: string): AffectedPrincipals => ({
  companyId,
  principals: 'everybody',
});

/** Only some principals of a company; those who were just made are known to nobody yet, and need not be named. */
export const makeAffectedPrincipals = (companyId: string, ...principals: string[]): AffectedPrincipals => ({
  companyId,
  principals,
});
