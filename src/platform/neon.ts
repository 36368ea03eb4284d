import {
  createClient,
  createConfig,
  createProject,
  deleteProject,
  getConnectionUri,
  listProjectOperations,
  listProjects,
  type Operation,
  type ProjectListItem,
} from '@neon/sdk/raw';

/** The settings for access to Neon's management API. */
export interface NeonConfig {
  /** The base URL of the API, from `NEON_API_URL`, e.g. `https://console.neon.tech/api/v2`. */
  apiUrl: string;
  /** The API key from `NEON_API_KEY`, sent as bearer token. */
  apiKey: string;
  /** The organization that owns the projects, from `NEON_ORG_ID`; not needed with a key of an organization. */
  organization?: string | undefined;
  /** The region of new projects, from `NEON_REGION`, e.g. `aws-us-east-1`; Neon chooses when it is left out. */
  region?: string | undefined;
  /** The time for which a project can be restored, in seconds; Neon's default when left out. */
  historySeconds?: number | undefined;
  /** The minimum and maximum size of a project's compute, in compute units; Neon's default if omitted. */
  computeUnits?: { min: number; max: number } | undefined;
}

/** The calls of the management API that this program makes. Every call gives up at `deadline` (Unix milliseconds). */
export interface NeonApi {
  /** Finds the project of exactly that name, the oldest of several; null if there is none. */
  findProject(name: string, deadline: number): Promise<string | null>;
  /** Creates a project with one database and the role that owns it; returns its id while it is still being set up. */
  createProject(projectNames: { name: string; database: string; role: string }, deadline: number): Promise<string>;
  /** Waits until all operations of the project have ended. */
  waitUntilReady(projectId: string, deadline: number): Promise<void>;
  /** Returns the role's connection string for a direct connection, without a pooler. */
  getConnectionString(projectId: string, database: string, role: string, deadline: number): Promise<string>;
  /** Deletes the project with its branches and computes. @returns false where it is deleted already */
  deleteProject(projectId: string, deadline: number): Promise<boolean>;
}

/** Thrown when a call of the management API fails. */
export class NeonProblem extends Error {
  /** Whether the request may have been carried out although no proper answer arrived. */
  readonly hasUnclearOutcome: boolean;
  /** The status of the answer; undefined where no answer arrived. */
  readonly status: number | undefined;

  constructor(message: string, hasUnclearOutcome: boolean, cause?: unknown, status?: number) {
    super(message, { cause });
    this.name = 'NeonProblem';
    this.hasUnclearOutcome = hasUnclearOutcome;
    this.status = status;
  }
}

/** The major version of PostgreSQL: the first with `uuidv7()`. */
const PG_VERSION = 18;
const ATTEMPT_TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 500;
const MAX_BACKOFF_MS = 4_000;
/** The statuses after which Neon allows any request to be repeated: locked, too many requests, unavailable. */
const REPEATABLE_STATUSES = new Set([423, 429, 503]);
const UNFINISHED_STATUSES: Operation['status'][] = ['scheduling', 'running', 'cancelling'];
const PROJECTS_PER_PAGE = 400;

export function buildNeonApi(config: NeonConfig): NeonApi {
  const client = createClient(createConfig({ baseUrl: config.apiUrl, auth: () => config.apiKey }));
  return {
    findProject: async (name, deadline) => {
      const foundProjects: ProjectListItem[] = [];
      for (let cursor: string | undefined; ; ) {
        const query = { search: name, limit: PROJECTS_PER_PAGE, cursor, org_id: config.organization };
        const page = await callNeon('list projects', deadline, (signal) => listProjects({ client, query, signal }));
        // Neon answers an incomplete list when it is slow; a project that is not listed may exist all the same.
        if ((page.unavailable_project_ids ?? []).length > 0) throw new NeonProblem('list projects: incomplete', false);
        foundProjects.push(...page.projects.filter((project) => project.name === name));
        cursor = page.pagination?.cursor;
        if (cursor === undefined || page.projects.length < PROJECTS_PER_PAGE) break;
      }
      const [oldest] = foundProjects.sort(
        (a, b) => compareTexts(a.created_at, b.created_at) || compareTexts(a.id, b.id),
      );
      return oldest?.id ?? null;
    },

    createProject: async ({ name, database, role }, deadline) => {
      const project = {
        name,
        pg_version: PG_VERSION,
        org_id: config.organization,
        region_id: config.region,
        history_retention_seconds: config.historySeconds,
        default_endpoint_settings: config.computeUnits && {
          autoscaling_limit_min_cu: config.computeUnits.min,
          autoscaling_limit_max_cu: config.computeUnits.max,
        },
        branch: { database_name: database, role_name: role },
      };
      const createdProject = await callNeon('create project', deadline, (signal) =>
        createProject({ client, body: { project }, signal }),
      );
      return createdProject.project.id;
    },

    waitUntilReady: async (projectId, deadline) => {
      const path = { project_id: projectId };
      for (;;) {
        const { operations } = await callNeon('list operations', deadline, (signal) =>
          listProjectOperations({ client, path, signal }),
        );
        if (!operations.some(({ status }) => UNFINISHED_STATUSES.includes(status))) return;
        await waitWithinDeadline(deadline, POLL_INTERVAL_MS, 'wait for operations');
      }
    },

    getConnectionString: async (projectId, database, role, deadline) => {
      const path = { project_id: projectId };
      const query = { database_name: database, role_name: role, pooled: false };
      const answer = await callNeon('get connection string', deadline, (signal) =>
        getConnectionUri({ client, path, query, signal }),
      );
      return answer.uri;
    },

    deleteProject: async (projectId, deadline) => {
      const path = { project_id: projectId };
      try {
        await callNeon('delete project', deadline, (signal) => deleteProject({ client, path, signal }));
        return true;
      } catch (error) {
        if (error instanceof NeonProblem && error.status === 404) return false;
        throw error;
      }
    },
  };
}

interface NeonResult<T> {
  data?: T;
  error?: Error;
  response?: Response;
}

/** Sends a request, and repeats it while Neon allows it and time is left. */
async function callNeon<T>(
  action: string,
  deadline: number,
  send: (signal: AbortSignal) => Promise<NeonResult<T>>,
): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const remainingMs = deadline - Date.now();
    if (remainingMs <= 0) throw new NeonProblem(`${action}: no time left`, false);
    const { data, error, response } = await send(AbortSignal.timeout(Math.min(remainingMs, ATTEMPT_TIMEOUT_MS)));
    if (data !== undefined) return data;
    const status = response?.status;
    if (status === undefined || !REPEATABLE_STATUSES.has(status)) {
      const isUnclear = status === undefined || status >= 500 || response?.ok === true;
      throw new NeonProblem(`${action}: ${status ?? 'no answer'} ${error?.message ?? ''}`, isUnclear, error, status);
    }
    await waitWithinDeadline(
      deadline,
      computeRetryDelay(response?.headers.get('retry-after') ?? null, attempt),
      `${action}: ${status}`,
    );
  }
}

/** Computes the delay before the next attempt in milliseconds: the server's, else exponential with jitter. */
function computeRetryDelay(retryAfter: string | null, attempt: number): number {
  const requestedMs = retryAfter === null ? Number.NaN : Number(retryAfter) * 1000;
  if (Number.isFinite(requestedMs) && requestedMs >= 0) return requestedMs;
  return Math.min(MAX_BACKOFF_MS, 250 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

async function waitWithinDeadline(deadline: number, milliseconds: number, action: string): Promise<void> {
  if (Date.now() + milliseconds >= deadline) throw new NeonProblem(`${action}: no time left`, false);
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
