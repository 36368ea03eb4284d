import { z } from 'zod';
import type { Files } from './files.ts';
import { Problem } from './problem.ts';

const DEFAULT_API = 'https://api.cloudflare.com/client/v4';
const TRIES = 4;
const PAUSE_MS = 1000;
const PER_PAGE = 100;

/** The credentials by which wrangler and these commands use the account. */
export interface CloudflareCredentials {
  /** `CLOUDFLARE_API_BASE_URL`, as wrangler reads it. */
  baseUrl: string;
  token: string;
  accountId: string;
}

const envelope = z.object({
  success: z.boolean(),
  errors: z.array(z.object({ code: z.number(), message: z.string() })).default([]),
  result: z.unknown(),
  result_info: z
    .object({ total_count: z.number().optional(), cursor: z.string().optional(), is_truncated: z.boolean().optional() })
    .nullish(),
});

/** The API refused a request. */
export class CloudflareApiError extends Problem {
  readonly status: number;
  /** Cloudflare's codes of its reasons. */
  readonly codes: readonly number[];
  constructor(status: number, codes: readonly number[], message: string) {
    super(message);
    this.status = status;
    this.codes = codes;
  }
}

/** Where new databases and buckets are created. A jurisdiction has priority over a hint. */
export interface Location {
  hint: string | null;
  jurisdiction: string | null;
}

/** A domain of the account. */
export interface Zone {
  id: string;
  name: string;
  /** `active` once the domain's name servers are Cloudflare's. */
  status: string;
  /** `free`, `pro`, `business`, `enterprise`. */
  plan: string;
}

const namedList = z.array(z.object({ name: z.string() }));
const findDatabase = z.object({ uuid: z.string(), name: z.string(), jurisdiction: z.string().nullish() });
const zone = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  plan: z.object({ legacy_id: z.string().nullish() }).nullish(),
});

/** The account's credentials, from the environment. @throws Problem that says how to make a token */
export async function readCredentials(env: NodeJS.ProcessEnv): Promise<CloudflareCredentials> {
  const token = env.CLOUDFLARE_API_TOKEN;
  if (!token) {
    throw new Problem(
      'Set CLOUDFLARE_API_TOKEN to a token that may edit Workers Scripts, D1, Workers R2 Storage and Queues, and read Zone ' +
        'and Email Sending (and edit Workers Routes for a domain of your own): https://dash.cloudflare.com/profile/api-tokens',
    );
  }
  const baseUrl = env.CLOUDFLARE_API_BASE_URL ?? DEFAULT_API;
  if (env.CLOUDFLARE_ACCOUNT_ID) return { baseUrl, token, accountId: env.CLOUDFLARE_ACCOUNT_ID };
  const { result } = await requestApi({ baseUrl, token }, 'GET', '/accounts');
  const accounts = z.array(z.object({ id: z.string(), name: z.string() })).parse(result);
  const [only, another] = accounts;
  if (only && !another) return { baseUrl, token, accountId: only.id };
  const names = accounts.map(({ id, name }) => `${id} (${name})`).join(', ');
  throw new Problem(`Set CLOUDFLARE_ACCOUNT_ID: the token belongs to ${names || 'no account'}.`);
}

/** The requests that the commands send to an account. Names are unique within it. */
export class CloudflareAccount {
  readonly #credentials: CloudflareCredentials;

  constructor(credentials: CloudflareCredentials) {
    this.#credentials = credentials;
  }

  /** @returns id and jurisdiction of a D1 database, or undefined */
  async database(name: string): Promise<{ id: string; jurisdiction: string | null } | undefined> {
    const found = (await this.#list(`/d1/database?name=${name}&`, findDatabase)).find((one) => one.name === name);
    return found && { id: found.uuid, jurisdiction: found.jurisdiction ?? null };
  }

  async createDatabase(name: string, { hint, jurisdiction }: Location): Promise<string> {
    const place = jurisdiction ? { jurisdiction } : hint ? { primary_location_hint: hint } : {};
    const { result } = await this.#ask('POST', '/d1/database', { name, ...place });
    return z.object({ uuid: z.string() }).parse(result).uuid;
  }

  /** Enables replicas of a D1 database, which answer sessions that may read anywhere. */
  async replicate(databaseId: string): Promise<void> {
    await this.#ask('PUT', `/d1/database/${databaseId}`, { read_replication: { mode: 'auto' } });
  }

  /** Runs one statement in a D1 database with bound values. @returns its rows */
  async query<Row>(databaseId: string, sql: string, params: string[]): Promise<Row[]> {
    const { result } = await this.#ask('POST', `/d1/database/${databaseId}/query`, { sql, params });
    const [first] = z.array(z.object({ results: z.array(z.unknown()) })).parse(result);
    return (first?.results ?? []) as Row[];
  }

  async hasBucket(name: string, { jurisdiction }: Location): Promise<boolean> {
    return (await this.#find(`/r2/buckets/${name}`, makeJurisdictionHeader(jurisdiction))) !== undefined;
  }

  async createBucket(name: string, { hint, jurisdiction }: Location): Promise<void> {
    const body = { name, ...(hint && !jurisdiction && { locationHint: hint }) };
    await this.#ask('POST', '/r2/buckets', body, makeJurisdictionHeader(jurisdiction));
  }

  /** The objects of an R2 bucket. */
  files(bucket: string, { jurisdiction }: Location): Omit<Files, 'close'> {
    const objects = `/r2/buckets/${bucket}/objects`;
    const headers = makeJurisdictionHeader(jurisdiction);
    return {
      list: async (prefix) => {
        const keys: string[] = [];
        for (let cursor = ''; ; ) {
          const query = new URLSearchParams({ prefix, per_page: '1000', ...(cursor && { cursor }) });
          const { result, result_info } = await this.#ask('GET', `${objects}?${query}`, undefined, headers);
          const page = z.array(z.object({ key: z.string() })).parse(result);
          keys.push(...page.map(({ key }) => key));
          if (!result_info?.is_truncated || !result_info.cursor) return keys;
          cursor = result_info.cursor;
        }
      },
      get: async (key) => {
        const path = `/accounts/${this.#credentials.accountId}${objects}/${key}`;
        const response = await sendRequest(this.#credentials, 'GET', path, undefined, headers);
        if (response.status === 404) return undefined;
        if (!response.ok) throw toApiError('GET', path, response.status, (await parseEnvelope(response))?.errors);
        return response.text();
      },
      put: async (key, text) => void (await this.#ask('PUT', `${objects}/${key}`, text, headers)),
    };
  }

  /** @throws Refusal where the account has no R2 */
  async bucketNames(): Promise<string[]> {
    const { result } = await this.#ask('GET', '/r2/buckets?per_page=1');
    const { buckets } = z.object({ buckets: namedList }).parse(result);
    return buckets.map(({ name }) => name);
  }

  /** The zone of a host; undefined if the token sees none. */
  async zoneOf(host: string): Promise<Zone | undefined> {
    const labels = host.split('.');
    for (let at = 0; at < labels.length - 1; at += 1) {
      const name = labels.slice(at).join('.');
      const query = new URLSearchParams({ name, 'account.id': this.#credentials.accountId });
      const { result } = await requestApi(this.#credentials, 'GET', `/zones?${query}`);
      const [found] = z.array(zone).parse(result);
      if (found) return { ...found, plan: found.plan?.legacy_id ?? 'free' };
    }
    return undefined;
  }

  /** The names of a zone that mail may be sent from: `example.com`, `mail.example.com`, `*.example.com`. */
  async sendingDomains(zoneId: string): Promise<{ name: string; enabled: boolean }[]> {
    const { result } = await requestApi(this.#credentials, 'GET', `/zones/${zoneId}/email/sending/subdomains`);
    return z.array(z.object({ name: z.string(), enabled: z.boolean() })).parse(result);
  }

  async queueNames(): Promise<string[]> {
    const found = await this.#list('/queues?', z.object({ queue_name: z.string() }));
    return found.map(({ queue_name }) => queue_name);
  }

  /** Ends that a Worker consumes queues. @returns the names of those it consumed */
  async releaseQueues(worker: string): Promise<string[]> {
    const consumer = z.object({
      consumer_id: z.string(),
      script: z.string().optional(),
      service: z.string().optional(),
    });
    const queue = z.object({ queue_id: z.string(), queue_name: z.string(), consumers: z.array(consumer).default([]) });
    const released: string[] = [];
    for (const { queue_id, queue_name, consumers } of await this.#list('/queues?', queue)) {
      for (const { consumer_id } of consumers.filter(({ script, service }) => (script ?? service) === worker)) {
        await this.#ask('DELETE', `/queues/${queue_id}/consumers/${consumer_id}`);
        released.push(queue_name);
      }
    }
    return released;
  }

  async createQueue(name: string): Promise<void> {
    await this.#ask('POST', '/queues', { queue_name: name });
  }

  /** Names of a Worker's secrets; none if the Worker does not exist yet. */
  async secretNames(worker: string): Promise<string[]> {
    return namedList.parse((await this.#find(`/workers/scripts/${worker}/secrets`)) ?? []).map(({ name }) => name);
  }

  /** The version of a Worker that runs, and whether it is the one uploaded last. */
  async runningVersion(worker: string): Promise<{ running: string | undefined; isNewest: boolean }> {
    const scripts = `/workers/scripts/${worker}`;
    const { deployments } = z
      .object({ deployments: z.array(z.object({ versions: z.array(z.object({ version_id: z.string() })) })) })
      .parse((await this.#ask('GET', `${scripts}/deployments`)).result);
    const { items } = z
      .object({ items: z.array(z.object({ id: z.string() })) })
      .parse((await this.#ask('GET', `${scripts}/versions?per_page=1`)).result);
    const running = deployments[0]?.versions.map(({ version_id }) => version_id) ?? [];
    const [newest] = items;
    if (!running[0] || !newest || (running.length === 1 && running[0] === newest.id)) {
      return { running: undefined, isNewest: true };
    }
    const { result } = await this.#ask('GET', `${scripts}/versions/${running[0]}`);
    const bound = z.array(z.object({ name: z.string(), text: z.string().optional() }));
    const { bindings } = z.object({ resources: z.object({ bindings: bound }) }).parse(result).resources;
    return { running: bindings.find(({ name }) => name === 'VERSION')?.text, isNewest: false };
  }

  /** The bookmark of a D1 database's state now, or at an earlier time. */
  async bookmark(databaseId: string, at?: Date): Promise<string> {
    const query = at ? `?timestamp=${encodeURIComponent(at.toISOString())}` : '';
    const { result } = await this.#ask('GET', `/d1/database/${databaseId}/time_travel/bookmark${query}`);
    return z.object({ bookmark: z.string() }).parse(result).bookmark;
  }

  /** Restores a whole D1 database to a bookmark. @returns the bookmark of the state before */
  async restore(databaseId: string, bookmark: string): Promise<string> {
    const query = `?bookmark=${encodeURIComponent(bookmark)}`;
    const { result } = await this.#ask('POST', `/d1/database/${databaseId}/time_travel/restore${query}`);
    return z.object({ previous_bookmark: z.string() }).parse(result).previous_bookmark;
  }

  async putSecret(worker: string, name: string, text: string): Promise<void> {
    await this.#ask('PUT', `/workers/scripts/${worker}/secrets`, { name, text, type: 'secret_text' });
  }

  async deleteSecret(worker: string, name: string): Promise<void> {
    await this.#ask('DELETE', `/workers/scripts/${worker}/secrets/${name}`);
  }

  /** The account's part of workers.dev addresses. @throws Problem if it has none yet */
  async subdomain(): Promise<string> {
    const result = await this.#find('/workers/subdomain');
    const { subdomain } = z.object({ subdomain: z.string().nullish() }).parse(result ?? {});
    if (subdomain) return subdomain;
    throw new Problem(
      'The account has no workers.dev subdomain: open Workers & Pages in the dashboard once, or name a "domain" in operations/environments.json.',
    );
  }

  /** All records of a paged list. */
  async #list<T>(path: string, schema: z.ZodType<T>): Promise<T[]> {
    const all: T[] = [];
    for (let page = 1; ; page += 1) {
      const { result, result_info } = await this.#ask('GET', `${path}page=${page}&per_page=${PER_PAGE}`);
      const records = z.array(schema).parse(result);
      all.push(...records);
      if (records.length < PER_PAGE || all.length >= (result_info?.total_count ?? Number.POSITIVE_INFINITY)) return all;
    }
  }

  /** The result, or undefined if nothing has that name. */
  async #find(path: string, headers?: Record<string, string>): Promise<unknown> {
    try {
      return (await this.#ask('GET', path, undefined, headers)).result;
    } catch (error) {
      if (error instanceof CloudflareApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  #ask(method: string, path: string, body?: object | string, headers?: Record<string, string>) {
    return requestApi(this.#credentials, method, `/accounts/${this.#credentials.accountId}${path}`, body, headers);
  }
}

/** Buckets inside and outside a jurisdiction are different ones, even with the same name. */
const makeJurisdictionHeader = (jurisdiction: string | null): Record<string, string> =>
  jurisdiction ? { 'cf-r2-jurisdiction': jurisdiction } : {};

type Request = [
  credentials: Pick<CloudflareCredentials, 'baseUrl' | 'token'>,
  method: string,
  path: string,
  body?: object | string,
  headers?: Record<string, string>,
];

/** Sends a request that is answered in an envelope. @throws Problem, of which a Refusal is one */
async function requestApi(...args: Request) {
  const response = await sendRequest(...args);
  const answer = await parseEnvelope(response);
  if (response.ok && answer?.success) return answer;
  const [, method, path] = args;
  throw toApiError(method, path, response.status, answer?.errors);
}

/** Sends a request; repeats it if the API is overloaded or unreachable. @throws Problem if it stays unreachable */
async function sendRequest(...[credentials, method, path, body, given = {}]: Request): Promise<Response> {
  const headers = { authorization: `Bearer ${credentials.token}`, 'content-type': 'application/json', ...given };
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const init = { method, headers, ...(text !== undefined && { body: text }) };
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(`${credentials.baseUrl}${path}`, init).catch((cause: Error) => cause);
    const isAway = response instanceof Error || response.status === 429 || response.status >= 500;
    if (isAway && tries < TRIES) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** (tries - 1)));
      continue;
    }
    if (!(response instanceof Error)) return response;
    const why = response.cause instanceof Error ? response.cause.message : response.message;
    throw new Problem(`Cloudflare cannot be reached at ${credentials.baseUrl} (${why}): run the command again later.`);
  }
}

const parseEnvelope = async (response: Response) =>
  envelope.safeParse(await response.json().catch(() => undefined)).data;

function toApiError(
  method: string,
  path: string,
  status: number,
  errors: z.output<typeof envelope>['errors'] = [],
): CloudflareApiError {
  const what = `Cloudflare refused ${method} ${path} with ${status}`;
  const why = errors.map(({ code, message }) => `${message} [${code}]`).join('; ') || 'no reason given';
  const isDenied = status === 401 || status === 403;
  const advice = isDenied ? ' Check what CLOUDFLARE_API_TOKEN may do, and CLOUDFLARE_ACCOUNT_ID.' : '';
  const codes = errors.map(({ code }) => code);
  return new CloudflareApiError(status, codes, `${what}: ${why}.${advice}`);
}
