import { timingSafeEqual } from 'node:crypto';
import type { raw } from '@neon/sdk';
import { NEON_PLANS, type NeonPlan } from '../../operations/deployment/neon.ts';

/** The regions in which projects can be created; the first is Neon's default. */
const REGIONS = ['aws-us-east-1', 'aws-eu-central-1', 'aws-sa-east-1'];

/** Kind of caller whose key a request has. */
export type Caller = 'person' | 'organization';

/** A refusal of Neon's API. */
export interface NeonError {
  status: number;
  code: string;
  message: string;
}

/** Organization that a call concerns, or the reason for its refusal. */
export type OrganizationResult = { organization: string } | NeonError;

/** The account's callers: a person with a key, who belongs to one organization, and the organization itself if it has a key. */
export class NeonAccount {
  readonly organization = 'org-local-12345678';
  readonly #keys: { key: Buffer; caller: Caller }[];
  readonly #plan: NeonPlan;

  constructor({ apiKey, organizationKey, plan }: { apiKey: string; organizationKey?: string; plan?: NeonPlan }) {
    const knownKeys = { person: apiKey, organization: organizationKey };
    this.#keys = (['person', 'organization'] as const).flatMap((caller) => {
      const key = knownKeys[caller];
      return key === undefined ? [] : [{ caller, key: Buffer.from(`Bearer ${key}`) }];
    });
    this.#plan = plan ?? 'scale';
  }

  /** Returns the caller whose key an `Authorization` header has. */
  findCaller(authorization: string): Caller | undefined {
    const sentHeader = Buffer.from(authorization);
    return this.#keys.find(({ key }) => sentHeader.length === key.length && timingSafeEqual(sentHeader, key))?.caller;
  }

  /** Finds the organization of a call. Like Neon, requires its id from a person; an organization's key implies it. */
  findOrganization(caller: Caller, requestedId: string | null | undefined): OrganizationResult {
    if (requestedId) {
      if (requestedId === this.organization) return { organization: requestedId };
      return { status: 404, code: '', message: 'organization not found' };
    }
    if (caller === 'organization') return { organization: this.organization };
    const message = 'org_id is required, you can find it on your organization settings page';
    return { status: 400, code: '', message };
  }

  /** Returns the reason to refuse the creation of a project, if there is one. */
  findRefusal(projectInput: raw.ProjectCreateRequest['project'], projectCount: number): NeonError | undefined {
    const plan = NEON_PLANS[this.#plan];
    const makeRefusal = (status: number, message: string, code = '') => ({ status, code, message });
    if (projectInput.region_id !== undefined && !REGIONS.includes(projectInput.region_id)) {
      return makeRefusal(400, `unknown region ${projectInput.region_id}`);
    }
    if ((projectInput.history_retention_seconds ?? 0) > plan.historySeconds) {
      return makeRefusal(400, `history_retention_seconds must be at most ${plan.historySeconds}`);
    }
    if ((projectInput.default_endpoint_settings?.autoscaling_limit_max_cu ?? 0) > plan.computeUnits) {
      return makeRefusal(400, `autoscaling_limit_max_cu must be at most ${plan.computeUnits}`);
    }
    return projectCount >= plan.projects
      ? makeRefusal(422, 'projects limit exceeded', 'PROJECTS_LIMIT_EXCEEDED')
      : undefined;
  }

  /** Region of a project that is created without one. */
  get defaultRegion(): string {
    return REGIONS[0] as string;
  }

  /** Answers `GET /auth`. */
  viewAuth(caller: Caller): raw.AuthDetailsResponse {
    return caller === 'person'
      ? { account_id: 'a-person', auth_method: 'api_key_user' }
      : { account_id: this.organization, auth_method: 'api_key_org' };
  }

  /** Answers `GET /organizations/{id}`. */
  viewOrganization(): raw.Organization {
    const createdAt = '2026-01-01T00:00:00Z';
    const { organization: id } = this;
    return {
      id,
      name: 'Local',
      handle: 'local',
      plan: this.#plan,
      managed_by: 'console',
      created_at: createdAt,
      updated_at: createdAt,
    };
  }

  /** Answers `GET /regions`. */
  viewRegions(): raw.ActiveRegionsResponse {
    const regions = REGIONS.map((region_id, at) => ({
      region_id,
      name: region_id,
      default: at === 0,
      geo_lat: '',
      geo_long: '',
    }));
    return { regions };
  }
}
