import { timingSafeEqual } from 'node:crypto';
import type { raw } from '@neon/sdk';
import { NEON_PLANS, type NeonPlan } from '../../operations/deployment/neon.ts';

/** The regions in which projects can be created; the first is Neon's default. */
const REGIONS = ['aws-us-east-1', 'aws-eu-central-1', 'aws-sa-east-1'];

/** Whose key a call has. */
export type Caller = 'person' | 'organization';

/** A refusal of Neon's API. */
export interface NeonError {
  status: number;
  code: string;
  message: string;
}

/** The organization that a call concerns, or why the call is refused. */
export type OrganizationOf = { organization: string } | NeonError;

/** The account's callers: a person with a key who belongs to one organization, and perhaps its own key. */
export class NeonAccount {
  readonly organization = 'org-local-12345678';
  readonly #keys: { key: Buffer; of: Caller }[];
  readonly #plan: NeonPlan;

  constructor({ apiKey, organizationKey, plan }: { apiKey: string; organizationKey?: string; plan?: NeonPlan }) {
    const known = { person: apiKey, organization: organizationKey };
    this.#keys = (['person', 'organization'] as const).flatMap((of) => {
      const key = known[of];
      return key === undefined ? [] : [{ of, key: Buffer.from(`Bearer ${key}`) }];
    });
    this.#plan = plan ?? 'scale';
  }

  /** The caller whose key an `Authorization` header has. */
  callerOf(authorization: string): Caller | undefined {
    const sent = Buffer.from(authorization);
    return this.#keys.find(({ key }) => sent.length === key.length && timingSafeEqual(sent, key))?.of;
  }

  /** Like Neon, requires the organization from a person; a key of an organization implies it. */
  organizationFor(caller: Caller, asked: string | null | undefined): OrganizationOf {
    if (asked) {
      if (asked === this.organization) return { organization: asked };
      return { status: 404, code: '', message: 'organization not found' };
    }
    if (caller === 'organization') return { organization: this.organization };
    const message = 'org_id is required, you can find it on your organization settings page';
    return { status: 400, code: '', message };
  }

  /** The reason to refuse the creation of a project, if there is one. */
  refusalOf(wanted: raw.ProjectCreateRequest['project'], projects: number): NeonError | undefined {
    const plan = NEON_PLANS[this.#plan];
    const refuse = (status: number, message: string, code = '') => ({ status, code, message });
    if (wanted.region_id !== undefined && !REGIONS.includes(wanted.region_id)) {
      return refuse(400, `unknown region ${wanted.region_id}`);
    }
    if ((wanted.history_retention_seconds ?? 0) > plan.historySeconds) {
      return refuse(400, `history_retention_seconds must be at most ${plan.historySeconds}`);
    }
    if ((wanted.default_endpoint_settings?.autoscaling_limit_max_cu ?? 0) > plan.computeUnits) {
      return refuse(400, `autoscaling_limit_max_cu must be at most ${plan.computeUnits}`);
    }
    return projects >= plan.projects ? refuse(422, 'projects limit exceeded', 'PROJECTS_LIMIT_EXCEEDED') : undefined;
  }

  /** The region of a project created without one. */
  get defaultRegion(): string {
    return REGIONS[0] as string;
  }

  /** Answers `GET /auth`. */
  authView(caller: Caller): raw.AuthDetailsResponse {
    return caller === 'person'
      ? { account_id: 'a-person', auth_method: 'api_key_user' }
      : { account_id: this.organization, auth_method: 'api_key_org' };
  }

  /** Answers `GET /organizations/{id}`. */
  organizationView(): raw.Organization {
    const made = '2026-01-01T00:00:00Z';
    const { organization: id } = this;
    return {
      id,
      name: 'Local',
      handle: 'local',
      plan: this.#plan,
      managed_by: 'console',
      created_at: made,
      updated_at: made,
    };
  }

  /** Answers `GET /regions`. */
  regionsView(): raw.ActiveRegionsResponse {
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
