import { z } from 'zod';
import type { Files } from './files.ts';
import { Problem } from './problem.ts';

const DEFAULT_API_URL = 'https://api.cloudflare.com/client/v4';
const MAX_TRIES = 4;
const PAUSE_MS = 1000;
const PER_PAGE = 100;

/** Credentials with which wrangler and these commands use the account. */
export interface CloudflareCredentials {
  /** Base URL of the API: `CLOUDFLARE_API_BASE_URL`, as wrangler reads it. */
  baseUrl: string;
  token: string;
  accountId: string;
}

const envelopeSchema = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
  result: z.unknown(),
  result_info: z
    .object({ total_count: z.number().optional(), cursor: z.string().optional(), is_truncated: z.boolean().optional() })
    .nullish(),
});

/** Error thrown when the API refuses a request. */
export class CloudflareApiError extends Problem {
  readonly status: number;
  /** Cloudflare's codes of the reasons for the refusal. */
  readonly errorCodes: readonly number[];
  constructor(status: number, codes: readonly number[], message: string) {
    super(message);
    this.status = status;
    this.errorCodes = codes;
  }
}

/** Place where new databases and buckets are created. A jurisdiction has priority over a hint. */
export interface Location {
  hint: string | null;
  jurisdiction: string | null;
}

/** Domain of the account. */
export interface Zone {
  id: string;
  name: string;
  /** Status of the domain: `active` once its name servers are Cloudflare's. */
  status: string;
  /** Plan of the domain: `free`, `pro`, `business` or `enterprise`. */
  plan: string;
}

const namedListSchema = z.array(z.object({ name: z.string() }));
const databaseListSchema = z.object({ uuid: z.string(), name: z.string(), jurisdiction: z.string().nullish() });
const zoneSchema = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  plan: z.object({ legacy_id: z.string().nullish() }).nullish(),
});

/** Reads the account's credentials from the environment. @throws Problem that says how to make a token */
export async function readCredentials(env: NodeJS.ProcessEnv): Promise<CloudflareCredentials> {
  const token = env.CLOUDFLARE_API_TOKEN;
  if (!token) {
    throw new Problem(
      'Set CLOUDFLARE_API_TOKEN to a token that may edit Workers Scripts, D1, Workers R2 Storage and Queues, and read Zone ' +
        'and Email Sending (and edit Workers Routes for a domain of your own): https://dash.cloudflare.com/profile/api-tokens',
    );
  }
  const baseUrl = env.CLOUDFLARE_API_BASE_URL ?? DEFAULT_API_URL;
  if (env.CLOUDFLARE_ACCOUNT_ID) return { baseUrl, token, accountId: env.CLOUDFLARE_ACCOUNT_ID };
  const { result } = await requestApi({ baseUrl, token }, 'GET', '/accounts');
  const accounts = z.array(z.object({ id: z.string(), name: z.string() })).parse(result);
  const [only, another] = accounts;
  if (only && !another) return { baseUrl, token, accountId: only.id };
  const names = accounts.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new Problem(`Set CLOUDFLARE_ACCOUNT_ID: the token belongs to ${names || 'no account'}.`);
}

/** Client for the account's requests that the commands send. Names are unique within the account. */
export class CloudflareAccount {
  readonly #credentials: CloudflareCredentials;

  constructor(credentials: CloudflareCredentials) {
    this.#credentials = credentials;
  }

  /** Finds a D1 database by name. @returns its id and jurisdiction, or undefined */
  async findDatabase(name: string): Promise<{ id: string; jurisdiction: string | null } | undefined> {
    const foundDatabase = (await this.#listRecords(`/d1/database?name=${name}&`, databaseListSchema)).find(
      (database) => database.name === name,
    );
    return foundDatabase && { id: foundDatabase.uuid, jurisdiction: foundDatabase.jurisdiction ?? null };
  }

  async createDatabase(name: string, { hint, jurisdiction }: Location): Promise<string> {
    const locationFields = jurisdiction ? { jurisdiction } : hint ? { primary_location_hint: hint } : {};
    const { result } = await this.#sendRequest('POST', '/d1/database', { name, ...locationFields });
    return z.object({ uuid: z.string() }).parse(result).uuid;
  }

  /** Enables replicas of a D1 database, which answer sessions that may read anywhere. */
  async enableReplicas(databaseId: string): Promise<void> {
    await this.#sendRequest('PUT', `/d1/database/${databaseId}`, { read_replication: { mode: 'auto' } });
  }

  /** Runs one statement in a D1 database with bound values. @returns its rows */
  async query<Row>(databaseId: string, sql: string, params: string[]): Promise<Row[]> {
    const { result } = await this.#sendRequest('POST', `/d1/database/${databaseId}/query`, { sql, params });
    const [first] = z.array(z.object({ results: z.array(z.unknown()) })).parse(result);
    return (first?.results ?? []) as Row[];
  }

  async hasBucket(name: string, { jurisdiction }: Location): Promise<boolean> {
    return (await this.#findResult(`/r2/buckets/${name}`, makeJurisdictionHeader(jurisdiction))) !== undefined;
  }

  async createBucket(name: string, { hint, jurisdiction }: Location): Promise<void> {
    const body = { name, ...(hint && !jurisdiction && { locationHint: hint }) };
    await this.#sendRequest('POST', '/r2/buckets', body, makeJurisdictionHeader(jurisdiction));
  }

  /** Makes the access to the objects of an R2 bucket. */
  openBucketFiles(bucket: string, { jurisdiction }: Location): Omit<Files, 'close'> {
    const objectsPath = `/r2/buckets/${bucket}/objects`;
    const headers = makeJurisdictionHeader(jurisdiction);
    return {
      list: async (prefix) => {
        const keys: string[] = [];
        for (let cursor = ''; ; ) {
          const query = new URLSearchParams({ prefix, per_page: '1000', ...(cursor && { cursor }) });
          const { result, result_info } = await this.#sendRequest('GET', `${objectsPath}?${query}`, undefined, headers);
          const page = z.array(z.object({ key: z.string() })).parse(result);
          keys.push(...page.map(({ key }) => key));
          if (!result_info?.is_truncated || !result_info.cursor) return keys;
          cursor = result_info.cursor;
        }
      },
      get: async (key) => {
        const path = `/accounts/${this.#credentials.accountId}${objectsPath}/${key}`;
        const response = await sendRequest(this.#credentials, 'GET', path, undefined, headers);
        if (response.status === 404) return undefined;
        if (!response.ok) throw toApiError('GET', path, response.status, (await parseEnvelope(response))?.errors);
        return response.text();
      },
      put: async (key, text) => void (await this.#sendRequest('PUT', `${objectsPath}/${key}`, text, headers)),
    };
  }

  /** Lists the names of the R2 buckets. @throws CloudflareApiError where the account has no R2 */
  async listBucketNames(): Promise<string[]> {
    const { result } = await this.#sendRequest('GET', '/r2/buckets?per_page=1');
    const { buckets } = z.object({ buckets: namedListSchema }).parse(result);
    return buckets.map(({ name }) => name);
  }

  /** Finds the zone of a host; undefined if the token sees none. */
  async findZone(host: string): Promise<Zone | undefined> {
    const labels = host.split('.');
    for (let at = 0; at < labels.length - 1; at += 1) {
      const name = labels.slice(at).join('.');
      const query = new URLSearchParams({ name, 'account.id': this.#credentials.accountId });
      const { result } = await requestApi(this.#credentials, 'GET', `/zones?${query}`);
      const [found] = z.array(zoneSchema).parse(result);
      if (found) return { ...found, plan: found.plan?.legacy_id ?? 'free' };
    }
    return undefined;
  }

  /** Lists the names of a zone that mail may be sent from: `example.com`, `mail.example.com`, `*.example.com`. */
  async listSendingDomains(zoneId: string): Promise<{ name: string; enabled: boolean }[]> {
    const { result } = await requestApi(this.#credentials, 'GET', `/zones/${zoneId}/email/sending/subdomains`);
    return z.array(z.object({ name: z.string(), enabled: z.boolean() })).parse(result);
  }

  async listQueueNames(): Promise<string[]> {
    const foundQueues = await this.#listRecords('/queues?', z.object({ queue_name: z.string() }));
    return foundQueues.map(({ queue_name }) => queue_name);
  }

  /** Removes a Worker as the consumer of its queues. @returns the names of these queues */
  async releaseQueues(worker: string): Promise<string[]> {
    const consumerSchema = z.object({
      consumer_id: z.string(),
      script: z.string().optional(),
      service: z.string().optional(),
    });
    const queueSchema = z.object({
      queue_id: z.string(),
      queue_name: z.string(),
      consumers: z.array(consumerSchema).default([]),
    });
    const releasedNames: string[] = [];
    for (const { queue_id, queue_name, consumers } of await this.#listRecords('/queues?', queueSchema)) {
      for (const { consumer_id } of consumers.filter(({ script, service }) => (script ?? service) === worker)) {
        await this.#sendRequest('DELETE', `/queues/${queue_id}/consumers/${consumer_id}`);
        releasedNames.push(queue_name);
      }
    }
    return releasedNames;
  }

  async createQueue(name: string): Promise<void> {
    await this.#sendRequest('POST', '/queues', { queue_name: name });
  }

  /** Lists the names of a Worker's secrets; none if the Worker does not exist yet. */
  async listSecretNames(worker: string): Promise<string[]> {
    return namedListSchema
      .parse((await this.#findResult(`/workers/scripts/${worker}/secrets`)) ?? [])
      .map(({ name }) => name);
  }

  /** Reads the running version of a Worker, and whether that is the version uploaded last. */
  async readRunningVersion(worker: string): Promise<{ runningVersion: string | undefined; isNewest: boolean }> {
    const scriptPath = `/workers/scripts/${worker}`;
    const { deployments } = z
      .object({ deployments: z.array(z.object({ versions: z.array(z.object({ version_id: z.string() })) })) })
      .parse((await this.#sendRequest('GET', `${scriptPath}/deployments`)).result);
    const { items } = z
      .object({ items: z.array(z.object({ id: z.string() })) })
      .parse((await this.#sendRequest('GET', `${scriptPath}/versions?per_page=1`)).result);
    const runningVersions = deployments[0]?.versions.map(({ version_id }) => version_id) ?? [];
    const [newest] = items;
    if (!runningVersions[0] || !newest || (runningVersions.length === 1 && runningVersions[0] === newest.id)) {
      return { runningVersion: undefined, isNewest: true };
    }
    const { result } = await this.#sendRequest('GET', `${scriptPath}/versions/${runningVersions[0]}`);
    const bindingsSchema = z.array(z.object({ name: z.string(), text: z.string().optional() }));
    const { bindings } = z.object({ resources: z.object({ bindings: bindingsSchema }) }).parse(result).resources;
    return { runningVersion: bindings.find(({ name }) => name === 'VERSION')?.text, isNewest: false };
  }

  /** Reads the bookmark of a D1 database's state now, or at an earlier time. */
  async readBookmark(databaseId: string, at?: Date): Promise<string> {
    const query = at ? `?timestamp=${encodeURIComponent(at.toISOString())}` : '';
    const { result } = await this.#sendRequest('GET', `/d1/database/${databaseId}/time_travel/bookmark${query}`);
    return z.object({ bookmark: z.string() }).parse(result).bookmark;
  }

  /** Restores a whole D1 database to a bookmark. */
  async restoreDatabase(databaseId: string, bookmark: string): Promise<void> {
    const query = `?bookmark=${encodeURIComponent(bookmark)}`;
    await this.#sendRequest('POST', `/d1/database/${databaseId}/time_travel/restore${query}`);
  }

  async putSecret(worker: string, name: string, text: string): Promise<void> {
    await this.#sendRequest('PUT', `/workers/scripts/${worker}/secrets`, { name, text, type: 'secret_text' });
  }

  async deleteSecret(worker: string, name: string): Promise<void> {
    await this.#sendRequest('DELETE', `/workers/scripts/${worker}/secrets/${name}`);
  }

  /** Reads the account's part of workers.dev addresses. @throws Problem if it has none yet */
  async readSubdomain(): Promise<string> {
    const result = await this.#findResult('/workers/subdomain');
    const { subdomain } = z.object({ subdomain: z.string().nullish() }).parse(result ?? {});
    if (subdomain) return subdomain;
    throw new Problem(
      'The account has no workers.dev subdomain: open Workers & Pages in the dashboard once, or name a "domain" in operations/environments.json.',
    );
  }

  /** Reads all records of a paged list. */
  async #listRecords<T>(path: string, schema: z.ZodType<T>): Promise<T[]> {
    const allRecords: T[] = [];
    for (let page = 1; ; page += 1) {
      const { result, result_info } = await this.#sendRequest('GET', `${path}page=${page}&per_page=${PER_PAGE}`);
      const records = z.array(schema).parse(result);
      allRecords.push(...records);
      if (records.length < PER_PAGE || allRecords.length >= (result_info?.total_count ?? Number.POSITIVE_INFINITY))
        return allRecords;
    }
  }

  /** Reads a result, or undefined if nothing has that name. */
  async #findResult(path: string, headers?: Record<string, string>): Promise<unknown> {
    try {
      return (await this.#sendRequest('GET', path, undefined, headers)).result;
    } catch (error) {
      if (error instanceof CloudflareApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  #sendRequest(method: string, path: string, body?: object | string, headers?: Record<string, string>) {
    return requestApi(this.#credentials, method, `/accounts/${this.#credentials.accountId}${path}`, body, headers);
  }
}

/** Makes the header that selects a jurisdiction: buckets inside and outside of one are different, even with the same name. */
const makeJurisdictionHeader = (jurisdiction: string | null): Record<string, string> =>
  jurisdiction ? { 'cf-r2-jurisdiction': jurisdiction } : {};

type ApiRequest = [
  credentials: Pick<CloudflareCredentials, 'baseUrl' | 'token'>,
  method: string,
  path: string,
  body?: object | string,
  headers?: Record<string, string>,
];

/** Sends a request whose answer is an envelope. @throws Problem, which is a CloudflareApiError after a refusal */
async function requestApi(...args: ApiRequest) {
  const response = await sendRequest(...args);
  const answer = await parseEnvelope(response);
  if (response.ok && answer?.success) return answer;
  const [, method, path] = args;
  throw toApiError(method, path, response.status, answer?.errors);
}

/** Sends a request; repeats it if the API is overloaded or unreachable. @throws Problem if it stays unreachable */
async function sendRequest(...[credentials, method, path, body, givenHeaders = {}]: ApiRequest): Promise<Response> {
  const headers = { authorization: `Bearer ${credentials.token}`, 'content-type': 'application/json', ...givenHeaders };
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const init = { method, headers, ...(text !== undefined && { body: text }) };
  for (let tryCount = 1; ; tryCount += 1) {
    const response = await fetch(`${credentials.baseUrl}${path}`, init).catch((cause: Error) => cause);
    const isUnavailable = response instanceof Error || response.status === 429 || response.status >= 500;
    if (isUnavailable && tryCount < MAX_TRIES) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** (tryCount - 1)));
      continue;
    }
    if (!(response instanceof Error)) return response;
    const failureReason = response.cause instanceof Error ? response.cause.message : response.message;
    throw new Problem(
      `Cloudflare cannot be reached at ${credentials.baseUrl} (${failureReason}): run the command again later.`,
    );
  }
}

const parseEnvelope = async (response: Response) =>
  envelopeSchema.safeParse(await response.json().catch(() => undefined)).data;

function toApiError(
  method: string,
  path: string,
  status: number,
  errors: z.output<typeof envelopeSchema>['errors'] = [],
): CloudflareApiError {
  const refusalText = `Cloudflare refused ${method} ${path} with ${status}`;
  const reasonText = errors.map(({ code, message }) => `${message} [${code}]`).join('; ') || 'no reason given';
  const isDenied = status === 401 || status === 403;
  const advice = isDenied ? ' Check what CLOUDFLARE_API_TOKEN may do, and CLOUDFLARE_ACCOUNT_ID.' : '';
  const codes = errors.map(({ code }) => code);
  return new CloudflareApiError(status, codes, `${refusalText}: ${reasonText}.${advice}`);
}
