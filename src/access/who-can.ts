import type { ControlDb } from '../db/client.ts';
import type { Action } from '../permissions/actions.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import { compile } from '../permissions/wildcard.ts';
import type { Principal } from './actors.ts';
import { compileAccess, type Decision, decide, type GroupGrants } from './evaluation.ts';
import {
  countGroupSets,
  type GroupSet,
  makeGroupSetKey,
  type NamedPrincipal,
  parseGroups,
  readGrants,
  readPrincipalsOfGroupSets,
} from './population.ts';

/** A principal who may do something, and the rule that decides that. */
export interface AllowedPrincipal {
  principal: NamedPrincipal;
  decidedBy: Decision['decided_by'];
}

/** Everybody active of the company whom the evaluator allows an action. Those of the same groups are decided once. */
export async function findAllowedPrincipals(
  db: ControlDb,
  caller: Principal,
  { action, resource }: { action: Action; resource: string },
  page: { page: number; perPage: number },
): Promise<{ total: number; records: AllowedPrincipal[] }> {
  const groupSets = await countGroupSets(db, caller);
  const groupIds = [...new Set(groupSets.flatMap(parseGroups))];
  const grants = await readGrants(db, caller.companyId, groupIds, keepStatementsOn(action));
  const able = decideAll(groupSets, grants, { companyId: caller.companyId, action, resource });
  const allowed = groupSets.filter((of) => able.has(makeGroupSetKey(of)));
  const found = await readPrincipalsOfGroupSets(db, caller, allowed, page);
  return {
    total: allowed.reduce((sum, { count }) => sum + count, 0),
    records: found.map(({ type, id, name, ...of }) => ({
      principal: { type, id, name },
      decidedBy: (able.get(makeGroupSetKey(of)) as Decision).decided_by,
    })),
  };
}

/** The decisions by group set key. Each group is decided once; its Deny takes precedence, as in the evaluator. */
export function decideAll(
  groupSets: readonly GroupSet[],
  grants: ReadonlyMap<string, GroupGrants>,
  { companyId, action, resource }: { companyId: string; action: Action; resource: string },
): Map<string, Decision> {
  const decideOn = (isOwner: boolean, groups: GroupGrants[]) =>
    decide(compileAccess({ companyId, isOwner, groups }), action, resource);
  const [owner, nobody] = [decideOn(true, []), decideOn(false, [])];
  const byGroup = new Map([...grants].map(([id, group]) => [id, decideOn(false, [group])]));
  const able = new Map<string, Decision>();
  for (const of of groupSets) {
    const decisions = parseGroups(of).flatMap((id) => byGroup.get(id) ?? []);
    const first = PRINCIPAL_TYPE_ORDER.map((kind) => decisions.find(({ decided_by }) => decided_by.kind === kind)).find(
      Boolean,
    );
    const decision = of.isOwner === 1 ? owner : (first ?? nobody);
    if (decision.allowed) able.set(makeGroupSetKey(of), decision);
  }
  return able;
}

const PRINCIPAL_TYPE_ORDER = ['deny', 'allow', 'legacy'] as const;

/** The statements of a document that say something of an action. */
export const keepStatementsOn =
  (action: Action) =>
  ({ statements, ...document }: PolicyDocument): PolicyDocument => ({
    ...document,
    statements: statements.filter(({ actions }) => actions.some((pattern) => compile(pattern)(action))),
  });
