import type { ControlDb } from '../db/client.ts';
import type { ObservedQueries } from '../db/dry-run-session.ts';
import type { GroupRole, LegacyPermission } from '../permissions/legacy.ts';
import { findManagedPolicyById } from '../permissions/managed-policies.ts';
import type { PolicyDocument } from '../permissions/policy-document.ts';
import type { Principal } from './actors.ts';
import { type AccessChange, type AccessWitness, compareAccess } from './comparison.ts';
import type { GroupGrants } from './evaluation.ts';
import {
  createAccessCompiler,
  type GroupSet,
  makeGroupSetKey,
  type NamedPrincipal,
  parseGroups,
  readAffectedPrincipals,
  readGrants,
} from './population.ts';
import { makeComparisonBudget } from './resource-languages.ts';

/** Witness of a change for one principal: an action on a resource that is allowed only before or only after the change. */
export interface PrincipalWitness extends AccessWitness {
  principal: NamedPrincipal;
}

/** Change of the principals' access. `truncated`: there are more gains or losses than are listed. */
export interface PrincipalAccessChange {
  gains: PrincipalWitness[];
  losses: PrincipalWitness[];
  truncated: boolean;
}

/** The maximum number of gains, and the maximum number of losses, that are listed. */
export const MAX_WITNESSES = 1000;

/** Number of principals that are compared in one page. */
const PRINCIPALS_PER_PAGE = 1000;

/** The result of the queries of `buildNamingQueries`. */
interface AffectedAccess {
  rolesByGroup: Map<string, GroupRole[]>;
  attachedPolicies: { groupId: string; policyId: string }[];
  legacyPermissions: (LegacyPermission & { groupId: string })[];
  policyDocuments: Map<string, PolicyDocument>;
  groupBindings: { groupId: string; principalId: string }[];
}

function toAffectedAccess([
  living = [],
  attached = [],
  listed = [],
  documents = [],
  bindings = [],
]: unknown[][][]): AffectedAccess {
  const parseJson = (value: unknown) => JSON.parse(String(value));
  return {
    rolesByGroup: new Map(living.map(([id, roles]) => [String(id), parseJson(roles)])),
    attachedPolicies: attached.map(([groupId, policyId]) => ({ groupId: String(groupId), policyId: String(policyId) })),
    legacyPermissions: listed.map(([groupId, id, target, actions]) => ({
      groupId: String(groupId),
      id: String(id),
      target: parseJson(target),
      actions: parseJson(actions),
    })),
    policyDocuments: new Map(documents.map(([id, document]) => [String(id), parseJson(document)])),
    groupBindings: bindings.map(([groupId, principalId]) => ({
      groupId: String(groupId),
      principalId: String(principalId),
    })),
  };
}

/**
 * Returns who gains and who loses which actions by a rehearsed change: for each principal and action one shortest resource.
 * @param ids ids of the records in the write's path, and of the principals whose access the write may change
 * @throws accessTooComplex where the comparison would take too long
 */
export async function computeAccessChange(
  db: ControlDb,
  caller: Principal,
  ids: ReadonlySet<string>,
  { rowsBefore, rowsAfter }: ObservedQueries,
): Promise<PrincipalAccessChange> {
  const change: PrincipalAccessChange = { gains: [], losses: [], truncated: false };
  if (!rowsBefore || !rowsAfter) return change;
  const [was, is] = [toAffectedAccess(rowsBefore), toAffectedAccess(rowsAfter)];
  const groupIds = [was, is].flatMap((affectedAccess) => [
    ...affectedAccess.rolesByGroup.keys(),
    ...[...affectedAccess.attachedPolicies, ...affectedAccess.legacyPermissions].map(({ groupId }) => groupId),
  ]);
  const affectedIds = { groupIds: [...new Set(groupIds)], principalIds: [...ids] };
  const budget = makeComparisonBudget();
  const changesByGroups = new Map<string, AccessChange>();
  const grants = new Map<string, GroupGrants>();
  for (let page = 1; ; page += 1) {
    const foundPrincipals = await readAffectedPrincipals(db, caller, affectedIds, {
      page,
      perPage: PRINCIPALS_PER_PAGE,
    });
    const groupSetsAfter = foundPrincipals.map((person) => ({
      isOwner: person.isOwner,
      groups: computeGroupsAfter(person, ids, is),
    }));
    const missingGroupIds = [...foundPrincipals, ...groupSetsAfter]
      .flatMap(parseGroups)
      .filter((id) => !grants.has(id));
    for (const [id, group] of await readGrants(db, caller.companyId, [...new Set(missingGroupIds)]))
      grants.set(id, group);
    const compileFormerAccess = createAccessCompiler(caller.companyId, grants);
    const compileNewAccess = createAccessCompiler(caller.companyId, readGrantsAfter(grants, ids, is));
    for (const [at, person] of foundPrincipals.entries()) {
      const groupSet = groupSetsAfter[at] as GroupSet;
      const key = `${makeGroupSetKey(person)} ${makeGroupSetKey(groupSet)}`;
      const accessChange =
        changesByGroups.get(key) ?? compareAccess(compileFormerAccess(person), compileNewAccess(groupSet), budget);
      changesByGroups.set(key, accessChange);
      const { type, id, name } = person;
      for (const changeKind of ['gains', 'losses'] as const) {
        const remainingCount = MAX_WITNESSES - change[changeKind].length;
        change.truncated ||= accessChange[changeKind].length > remainingCount;
        change[changeKind].push(
          ...accessChange[changeKind]
            .slice(0, remainingCount)
            .map((witness) => ({ principal: { type, id, name }, ...witness })),
        );
      }
    }
    const isFull = change.gains.length === MAX_WITNESSES && change.losses.length === MAX_WITNESSES;
    if (foundPrincipals.length < PRINCIPALS_PER_PAGE || (isFull && change.truncated)) return change;
  }
}

/** Computes a principal's groups after the change, in the form of `groups` of `GroupSet`. */
function computeGroupsAfter(
  { id, groups: text }: NamedPrincipal & GroupSet,
  ids: ReadonlySet<string>,
  { groupBindings }: AffectedAccess,
): string {
  if (!ids.has(id)) return text;
  const groupIdsAfter = groupBindings.filter(({ principalId }) => principalId === id).map(({ groupId }) => groupId);
  return JSON.stringify([...new Set(groupIdsAfter)].toSorted());
}

/** Reads the grants and denials of groups after the change; deleted groups give nothing. */
function readGrantsAfter(
  grants: ReadonlyMap<string, GroupGrants>,
  ids: ReadonlySet<string>,
  affectedAfter: AffectedAccess,
): Map<string, GroupGrants> {
  const remainingGroups = [...grants.values()].filter(({ id }) => !ids.has(id) || affectedAfter.rolesByGroup.has(id));
  return new Map(
    remainingGroups.map((group) => {
      const isUnchanged = ({ id }: { id: string }): boolean => !ids.has(group.id) && !ids.has(id);
      const policyIds = affectedAfter.attachedPolicies
        .filter(({ groupId }) => groupId === group.id)
        .map(({ policyId }) => policyId);
      const attachedPolicies = policyIds.flatMap((id) => {
        const ownDocument =
          affectedAfter.policyDocuments.get(id) ?? group.policies.find((policy) => policy.id === id)?.document;
        const document = ownDocument ?? findManagedPolicyById(id)?.document;
        return document ? [{ id, document }] : [];
      });
      const listedPermissions = affectedAfter.legacyPermissions.filter(({ groupId }) => groupId === group.id);
      return [
        group.id,
        {
          id: group.id,
          roles: affectedAfter.rolesByGroup.get(group.id) ?? group.roles,
          policies: [...group.policies.filter(isUnchanged), ...attachedPolicies],
          permissions: [
            ...group.permissions.filter(isUnchanged),
            ...listedPermissions.map(({ groupId: _, ...permission }) => permission),
          ],
        },
      ];
    }),
  );
}
