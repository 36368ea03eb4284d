import { type ConstraintFailures, type ControlDb, commit, type Results, type StatementUnit } from '../db/client.ts';

/** The principals of a company whose access a unit of work changes, or all principals of the company. */
export interface AffectedPrincipals {
  companyId: string;
  principals: readonly string[] | 'everybody';
}

/** The part of a context that a change of access needs. */
export interface AccessChangeContext {
  db: ControlDb;
  changeAccess<T>(affectedPrincipals: AffectedPrincipals, work: () => Promise<T>): Promise<T>;
}

/** Applies a unit by `commit` as a change of access: later requests are not authorized by the previous permissions. */
export const commitAccess = <const U extends StatementUnit>(
  ctx: AccessChangeContext,
  affectedPrincipals: AffectedPrincipals,
  unit: U,
  failures: ConstraintFailures = {},
): Promise<Results<U>> => ctx.changeAccess(affectedPrincipals, () => commit(ctx.db, unit, failures));

/** Makes the affected principals of a change to a group or policy: everybody in the company. */
export const makeAffectedEverybody = (companyId: string): AffectedPrincipals => ({
  companyId,
  principals: 'everybody',
});

/** Makes the affected principals of a change to some principals; those just created need not be named. */
export const makeAffectedPrincipals = (companyId: string, ...principals: string[]): AffectedPrincipals => ({
  companyId,
  principals,
});
