import {
  createClient,
  createConfig,
  getActiveRegions,
  getAuthDetails,
  getCurrentUserOrganizations,
  getOrganization,
  listProjects,
  type Organization,
} from '@neon/sdk/raw';
import type { Environment } from '../environments.ts';
import { Problem } from '../problem.ts';
import { type Findings, makeNote, makeProblem } from './findings.ts';

const DEFAULT_API_URL = 'https://console.neon.tech/api/v2';
const PROJECTS_PER_PAGE = 400;
/** Share of the allowed projects above which the operator gets a note. */
const NEARLY_FULL_SHARE = 0.8;

/** Limits of an organization by its plan (https://neon.com/docs/introduction/plans). */
export const NEON_PLANS = {
  free: { projects: 100, historySeconds: 6 * 60 * 60, computeUnits: 2 },
  launch: { projects: 100, historySeconds: 7 * 24 * 60 * 60, computeUnits: 16 },
  scale: { projects: 1000, historySeconds: 30 * 24 * 60 * 60, computeUnits: 16 },
};
export type NeonPlan = keyof typeof NEON_PLANS;

const findPlan = ({ plan }: Organization) => (plan in NEON_PLANS ? NEON_PLANS[plan as NeonPlan] : undefined);

/** Default history of the Worker (`src/config.ts`). */
const DEFAULT_HISTORY_SECONDS = 7 * 24 * 60 * 60;

type NeonClient = ReturnType<typeof createClient>;

/** Checks whether companies' databases can be created at Neon: key, organization, plan and its limits, region. */
export async function checkNeon(environment: Environment, apiKey: string | undefined): Promise<Findings> {
  if (!apiKey) return makeNote('Neon: not looked at, since NEON_API_KEY is not given to this command.');
  const { name, settings, vars } = environment;
  const baseUrl = vars.NEON_API_URL ?? DEFAULT_API_URL;
  const client = createClient(createConfig({ baseUrl, auth: () => apiKey }));
  const authAnswer = await getAuthDetails({ client });
  if (authAnswer.response?.status === 401) return makeProblem('Neon does not know NEON_API_KEY: make one and set it.');
  const caller = requireData(authAnswer, baseUrl);
  const isPerson = caller.auth_method !== 'api_key_org';
  const organization = vars.NEON_ORG_ID ?? (isPerson ? undefined : caller.account_id);
  if (organization === undefined) return makeProblem(await describeUnknownOrganization(client, baseUrl, name));
  const organizationAnswer = await getOrganization({ client, path: { org_id: organization } });
  if (!organizationAnswer.data)
    return makeProblem(
      `NEON_API_KEY may not use the organization ${organization} at Neon: ${findFailureReason(organizationAnswer)}`,
    );

  const problems = [
    ...(await checkRegion(client, baseUrl, settings.location.neon_region)),
    ...checkHistory(organizationAnswer.data, Number(vars.NEON_HISTORY_SECONDS ?? DEFAULT_HISTORY_SECONDS), name),
  ];
  const notes = isPerson
    ? [`NEON_API_KEY is a person's and ends with them: ${makeOrganizationKeyHint(organization)} is better.`]
    : [];
  const limit = await checkProjectLimit(client, baseUrl, organizationAnswer.data, isPerson ? organization : undefined);
  return { problems: [...problems, ...limit.problems], notes: [...notes, ...limit.notes] };
}

const makeOrganizationKeyHint = (organization: string): string =>
  `a key of the organization (https://console.neon.tech/app/${organization}/settings#api-keys)`;

/** Describes how to name the organization: a person's key lists and creates projects only for a given organization. */
async function describeUnknownOrganization(client: NeonClient, baseUrl: string, environment: string): Promise<string> {
  const { organizations } = requireData(await getCurrentUserOrganizations({ client }), baseUrl);
  const names = organizations.map(({ id, name }) => `${id} (${name})`).join(', ') || 'none yet';
  const [first] = organizations;
  return (
    `NEON_API_KEY is a person's, and Neon must be told which organization is meant: put "NEON_ORG_ID" into "vars" of ` +
    `${environment} in operations/environments.json, or better use ${makeOrganizationKeyHint(first?.id ?? 'ORGANIZATION')}, which needs ` +
    `none. The person's organizations: ${names}.`
  );
}

async function checkRegion(client: NeonClient, baseUrl: string, region: string | null): Promise<string[]> {
  const { regions } = requireData(await getActiveRegions({ client }), baseUrl);
  const ids = regions.map(({ region_id }) => region_id);
  if (region === null || ids.includes(region)) return [];
  return [`Neon has no region "${region}" ("neon_region" in operations/environments.json): it has ${ids.join(', ')}.`];
}

function checkHistory(organization: Organization, seconds: number, environment: string): string[] {
  const { plan, id } = organization;
  const maxSeconds = findPlan(organization)?.historySeconds;
  if (maxSeconds === undefined || seconds <= maxSeconds) return [];
  return [
    `NEON_HISTORY_SECONDS is ${seconds}, and the plan ${plan} of ${id} keeps ${maxSeconds} at most: every company's database would ` +
      `be refused. Put "NEON_HISTORY_SECONDS": "${maxSeconds}" into "vars" of ${environment} in operations/environments.json, or ` +
      'change the plan.',
  ];
}

/** Checks the plan's number of projects: each company is a project of its own. */
async function checkProjectLimit(
  client: NeonClient,
  baseUrl: string,
  organization: Organization,
  requestedId: string | undefined,
): Promise<Findings> {
  const { plan, id } = organization;
  let projectCount = 0;
  for (let cursor: string | undefined; ; ) {
    const page = requireData(
      await listProjects({ client, query: { limit: PROJECTS_PER_PAGE, cursor, org_id: requestedId } }),
      baseUrl,
    );
    projectCount += page.projects.length;
    cursor = page.pagination?.cursor;
    if (cursor === undefined || page.projects.length < PROJECTS_PER_PAGE) break;
  }
  const maxProjects = findPlan(organization)?.projects;
  if (maxProjects === undefined)
    return makeNote(`Neon: ${projectCount} projects; what the plan ${plan} allows is not known.`);
  const usedText = `Neon: ${projectCount} of the ${maxProjects} projects that the plan ${plan} of ${id} has`;
  if (projectCount >= maxProjects)
    return makeProblem(`${usedText}: no further company could get a database. Change the plan, or ask Neon.`);
  return {
    problems: [],
    notes: projectCount >= maxProjects * NEARLY_FULL_SHARE ? [`Warning: ${usedText}.`] : [usedText],
  };
}

interface NeonResult<T> {
  data?: T | undefined;
  error?: unknown;
  response?: Response | undefined;
}

function requireData<T>(answer: NeonResult<T>, baseUrl: string): T {
  if (answer.data !== undefined) return answer.data;
  throw new Problem(
    `Neon at ${baseUrl} does not answer as it should: ${findFailureReason(answer)}. Run the command again later.`,
  );
}

const findFailureReason = ({ error, response }: NeonResult<unknown>): string =>
  `${response?.status ?? 'no answer'} ${(error as { message?: string } | undefined)?.message ?? ''}`.trim();
