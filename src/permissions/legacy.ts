import { ID_PATTERN } from '../kernel/ids.ts';
import {
  type Action,
  getActionEntry,
  getServiceArnParts,
  isService,
  type LegacyVerb,
  type Service,
} from './actions.ts';
import { makeArn } from './arn.ts';

/** The actions that roles and legacy permissions may allow. `*` is all actions. */
export const LEGACY_ACTIONS = ['read', 'create', 'update', 'delete', '*'] as const satisfies readonly (
  | LegacyVerb
  | '*'
)[];
export type LegacyAction = (typeof LEGACY_ACTIONS)[number];

/** A role inside a group. `target` is `*` or a service of the catalogue; any other target allows nothing. */
export interface GroupRole {
  name: string;
  target: string;
  actions: readonly LegacyAction[];
}

/** The scope of a legacy permission. */
export interface LegacyTarget {
  /** The id of a company, or `*` for all of them. */
  company_id: string;
  /** A service of the catalogue; left out means all of them. */
  service_name?: string | null;
  /** Id of one resource of that service, or `*`; left out means all of them. */
  service_id?: string | null;
}

export interface LegacyPermission {
  id: string;
  target: LegacyTarget;
  actions: readonly LegacyAction[];
}

/** A role or permission converted to the terms of a policy statement: these actions on these resource patterns. */
export interface LegacyGrant {
  allowsAction(action: Action): boolean;
  resourcePatterns: readonly string[];
}

/** Converts a role to the grant within its company; null for a target that is no service. */
export function toRoleGrant(role: GroupRole): LegacyGrant | null {
  if (role.target === '*') return makeGrant(null, role.actions, ['*']);
  return isService(role.target) ? makeGrant(role.target, role.actions, ['*']) : null;
}

/** Converts a permission to the grant for a company's members; null for a target or service that no policy reaches. */
export function toPermissionGrant(permission: LegacyPermission, companyId: string): LegacyGrant | null {
  const { company_id, service_name, service_id } = permission.target;
  if (company_id !== '*' && company_id !== companyId) return null;
  if (service_name == null) return service_id == null ? makeGrant(null, permission.actions, ['*']) : null;
  if (!isService(service_name)) return null;
  if (service_id == null || service_id === '*') return makeGrant(service_name, permission.actions, ['*']);
  if (!ID_PATTERN.test(service_id) || service_name === 'policies') return null;
  const { arnService, types } = getServiceArnParts(service_name);
  const resources = types.map((type) => makeArn(arnService, companyId, type, service_id));
  return makeGrant(service_name, permission.actions, resources);
}

function makeGrant(
  service: Service | null,
  actions: readonly LegacyAction[],
  resources: readonly string[],
): LegacyGrant {
  return {
    resourcePatterns: resources,
    allowsAction(action) {
      const entry = getActionEntry(action);
      if (service !== null && entry.service !== service) return false;
      return actions.includes('*') || (entry.legacyVerbs?.every((verb) => actions.includes(verb)) ?? false);
    },
  };
}
