import type { ControlDb } from '../db/client.ts';
import type { Action } from '../permissions/actions.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import { compilePattern } from '../permissions/wildcard.ts';
import type { Principal } from './actors.ts';
import { compileAccess, type Decision, decideAccess, type GroupGrants } from './evaluation.ts';
import {
  countGroupSets,
  type GroupSet,
  makeGroupSetKey,
  type NamedPrincipal,
  parseGroups,
  readGrants,
  readPrincipalsOfGroupSets,
} from './population.ts';

/** A principal who is allowed an action, and the rule that allows it. */
export interface AllowedPrincipal {
  principal: NamedPrincipal;
  decidedBy: Decision['decided_by'];
}

/** Finds all active principals of the company whom the evaluator allows an action; equal sets of groups are decided once. */
export async function findAllowedPrincipals(
  db: ControlDb,
  caller: Principal,
  { action, resource }: { action: Action; resource: string },
  page: { page: number; perPage: number },
): Promise<{ total: number; records: AllowedPrincipal[] }> {
  const groupSets = await countGroupSets(db, caller);
  const groupIds = [...new Set(groupSets.flatMap(parseGroups))];
  const grants = await readGrants(db, caller.companyId, groupIds, makeStatementFilter(action));
  const decisionsByKey = decideForGroupSets(groupSets, grants, { companyId: caller.companyId, action, resource });
  const allowedSets = groupSets.filter((groupSet) => decisionsByKey.has(makeGroupSetKey(groupSet)));
  const foundPrincipals = await readPrincipalsOfGroupSets(db, caller, allowedSets, page);
  return {
    total: allowedSets.reduce((sum, { count }) => sum + count, 0),
    records: foundPrincipals.map(({ type, id, name, ...groupSet }) => ({
      principal: { type, id, name },
      decidedBy: (decisionsByKey.get(makeGroupSetKey(groupSet)) as Decision).decided_by,
    })),
  };
}

/**
 * Decides for each set of groups. Each group is decided once, and a Deny of any group takes precedence, as in the evaluator.
 * @returns the decisions by the keys of the sets
 */
export function decideForGroupSets(
  groupSets: readonly GroupSet[],
  grants: ReadonlyMap<string, GroupGrants>,
  { companyId, action, resource }: { companyId: string; action: Action; resource: string },
): Map<string, Decision> {
  const decideForGroups = (isOwner: boolean, groups: GroupGrants[]) =>
    decideAccess(compileAccess({ companyId, isOwner, groups }), action, resource);
  const [owner, nobody] = [decideForGroups(true, []), decideForGroups(false, [])];
  const decisionsByGroup = new Map([...grants].map(([id, group]) => [id, decideForGroups(false, [group])]));
  const allowedDecisions = new Map<string, Decision>();
  for (const groupSet of groupSets) {
    const decisions = parseGroups(groupSet).flatMap((id) => decisionsByGroup.get(id) ?? []);
    const firstDecision = RULE_KIND_ORDER.map((kind) =>
      decisions.find(({ decided_by }) => decided_by.kind === kind),
    ).find(Boolean);
    const decision = groupSet.isOwner === 1 ? owner : (firstDecision ?? nobody);
    if (decision.allowed) allowedDecisions.set(makeGroupSetKey(groupSet), decision);
  }
  return allowedDecisions;
}

const RULE_KIND_ORDER = ['deny', 'allow', 'legacy'] as const;

/** Makes a function that keeps only a document's statements about one action. */
export const makeStatementFilter =
  (action: Action) =>
  ({ statements, ...document }: PolicyDocument): PolicyDocument => ({
    ...document,
    statements: statements.filter(({ actions }) => actions.some((pattern) => compilePattern(pattern)(action))),
  });
