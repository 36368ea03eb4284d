import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { raw } from '@neon/sdk';
import { sendJson } from '../servers.ts';
import type { Caller, NeonAccount, OrganizationResult } from './account.ts';
import type { Faults, NeonCall } from './faults.ts';
import { NameTakenError, type NeonProject, type NeonProjects } from './projects.ts';
import { makeConnectionUri, viewCreatedProject, viewListedProject, viewOperations, viewProject } from './views.ts';

interface ApiResponse {
  status: number;
  body: unknown;
}

interface ProjectCall {
  name: NeonCall;
  /** Name of the project that the call concerns, for which faults can be set. */
  projectName: string;
  run(operationsMs: number): ApiResponse | Promise<ApiResponse>;
}

const ROOT_PATH = '/api/v2';

/** The calls of Neon's management API v2 that provisioning makes (https://api-docs.neon.tech). */
export class ManagementApi {
  readonly #projects: NeonProjects;
  readonly #faults: Faults;
  readonly #account: NeonAccount;

  constructor(projects: NeonProjects, faults: Faults, account: NeonAccount) {
    this.#projects = projects;
    this.#faults = faults;
    this.#account = account;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const caller = this.#account.findCaller(request.headers.authorization ?? '');
    if (caller === undefined) {
      return sendResponse(response, makeProblem(401, '', 'supplied credentials do not pass authentication'));
    }
    const accountAnswer = this.#answerAccountRequest(request, caller);
    if (accountAnswer !== undefined) return sendResponse(response, accountAnswer);
    const call = this.#findCall(request, caller, await json(request).catch(() => ({})));
    if (call === undefined) return sendResponse(response, makeProblem(404, '', 'the requested resource was not found'));

    const fault = this.#faults.takeFault(call.name, call.projectName);
    if (fault?.delay_ms !== undefined) await sleep(fault.delay_ms);
    if (fault?.status !== undefined) {
      if (fault.retry_after !== undefined) response.setHeader('retry-after', String(fault.retry_after));
      return sendResponse(response, makeProblem(fault.status, 'LOCAL_FAULT', 'a fault was set on this call'));
    }
    const answer = await call.run(fault?.operations_ms ?? 0);
    if (fault?.lose_answer === true) {
      request.socket.destroy();
      return;
    }
    sendResponse(response, answer);
  }

  /** Answers requests for the account itself. */
  #answerAccountRequest(request: IncomingMessage, caller: Caller): ApiResponse | undefined {
    const account = this.#account;
    switch (`${request.method} ${request.url?.slice(ROOT_PATH.length)}`) {
      case 'GET /auth':
        return makeResponse(account.viewAuth(caller));
      case 'GET /regions':
        return makeResponse(account.viewRegions());
      case `GET /organizations/${account.organization}`:
        return makeResponse(account.viewOrganization());
      case 'GET /users/me/organizations':
        if (caller === 'organization') return makeProblem(403, '', 'not allowed for organization API keys');
        return makeResponse({ organizations: [account.viewOrganization()] });
      default:
        return undefined;
    }
  }

  #findCall(request: IncomingMessage, caller: Caller, body: unknown): ProjectCall | undefined {
    const url = new URL(request.url ?? '/', 'http://neon');
    const [collection, id, part, partId] = url.pathname
      .slice(ROOT_PATH.length + 1)
      .split('/')
      .map(decodeURIComponent);
    if (collection !== 'projects') return undefined;
    const method = request.method ?? 'GET';
    if (id === undefined) return this.#findCollectionCall(method, caller, url.searchParams, body);

    const project = this.#projects.get(id);
    if (project === undefined) return undefined;
    const makeCall = (name: NeonCall, run: ProjectCall['run']): ProjectCall => ({
      name,
      projectName: project.name,
      run,
    });
    if (method === 'GET' && part === undefined) {
      return makeCall('get_project', () => makeResponse({ project: viewProject(project) }));
    }
    if (method === 'DELETE' && part === undefined) {
      return makeCall('delete_project', async () => {
        await this.#projects.delete(project);
        return makeResponse({ project: viewProject(project) });
      });
    }
    if (method === 'GET' && part === 'operations') {
      return partId === undefined
        ? makeCall('list_operations', () => makeResponse({ operations: viewOperations(project, Date.now()) }))
        : makeCall('get_operation', () => makeOperation(project, partId));
    }
    if (method === 'GET' && part === 'connection_uri') {
      return makeCall('connection_uri', () => makeUri(project, url.searchParams));
    }
    return undefined;
  }

  #findCollectionCall(method: string, caller: Caller, query: URLSearchParams, body: unknown): ProjectCall | undefined {
    if (method === 'GET') {
      const searchText = query.get('search') ?? '';
      const organization = this.#account.findOrganization(caller, query.get('org_id'));
      return {
        name: 'list_projects',
        projectName: searchText,
        run: () => answerForOrganization(organization, () => this.#listProjects(searchText, query)),
      };
    }
    if (method === 'POST') {
      const { project = {} } = body as { project?: CreateProjectInput };
      const name = project.name ?? 'project';
      const organization = this.#account.findOrganization(caller, project.org_id);
      return {
        name: 'create_project',
        projectName: name,
        run: (ms) => answerForOrganization(organization, () => this.#createProject(name, project, ms)),
      };
    }
    return undefined;
  }

  #listProjects(search: string, query: URLSearchParams): ApiResponse {
    const foundProjects = this.#projects.list().filter(({ id, name }) => name.includes(search) || id.includes(search));
    const firstIndex = foundProjects.findIndex(({ id }) => id === query.get('cursor')) + 1;
    const page = foundProjects.slice(firstIndex, firstIndex + Number(query.get('limit') ?? 10));
    const lastProject = page.at(-1);
    return makeResponse({
      projects: page.map(viewListedProject),
      ...(lastProject === undefined ? {} : { pagination: { cursor: lastProject.id } }),
    });
  }

  async #createProject(name: string, input: CreateProjectInput, operationsMs: number): Promise<ApiResponse> {
    const refusal = this.#account.findRefusal(input, this.#projects.list().length);
    if (refusal) return makeProblem(refusal.status, refusal.code, refusal.message);
    const newProject = {
      name,
      database: input.branch?.database_name ?? 'neondb',
      role: input.branch?.role_name ?? 'neondb_owner',
      regionId: input.region_id ?? this.#account.defaultRegion,
      historySeconds: input.history_retention_seconds ?? DAY_SECONDS,
      minUnits: input.default_endpoint_settings?.autoscaling_limit_min_cu ?? DEFAULT_UNITS,
      maxUnits: input.default_endpoint_settings?.autoscaling_limit_max_cu ?? DEFAULT_UNITS,
    };
    try {
      const project = await this.#projects.create(newProject, operationsMs);
      return { status: 201, body: viewCreatedProject(project, Date.now()) };
    } catch (error) {
      if (error instanceof NameTakenError) return makeProblem(409, 'CONFLICT', error.message);
      throw error;
    }
  }
}

type CreateProjectInput = raw.ProjectCreateRequest['project'];

const DAY_SECONDS = 24 * 60 * 60;
/** Compute size of a project that is created without one. */
const DEFAULT_UNITS = 0.25;

/** Returns the result of `answer` if the organization was found, else the refusal. */
const answerForOrganization = (
  organization: OrganizationResult,
  answer: () => ApiResponse | Promise<ApiResponse>,
): ApiResponse | Promise<ApiResponse> =>
  'organization' in organization ? answer() : makeProblem(organization.status, organization.code, organization.message);

const makeResponse = (body: unknown): ApiResponse => ({ status: 200, body });

const makeProblem = (status: number, code: string, message: string): ApiResponse => ({
  status,
  body: { code, message },
});

function makeOperation(project: NeonProject, id: string): ApiResponse {
  const operationView = viewOperations(project, Date.now()).find((view) => view.id === id);
  return operationView === undefined
    ? makeProblem(404, '', 'operation not found')
    : makeResponse({ operation: operationView });
}

function makeUri(project: NeonProject, query: URLSearchParams): ApiResponse {
  const isKnownDatabase = query.get('database_name') === project.database && query.get('role_name') === project.role;
  return isKnownDatabase
    ? makeResponse({ uri: makeConnectionUri(project) })
    : makeProblem(404, '', 'role or database not found');
}

const sendResponse = (response: ServerResponse, { status, body }: ApiResponse): void =>
  sendJson(response, status, body);
