import { env } from 'cloudflare:test';
import { type Key, sign } from '../../examples/signing/sign.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Action } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { type ApiResponse, BASE_URL, type Caller, callApi, createCaller, type RequestOptions } from './api.ts';
import type { Company } from './companies.ts';

/** Creates a caller whose requests are signed with a key, as the published example signs them. */
export function createSignedCaller(key: Key): Caller {
  const send =
    (method: string) =>
    async (path: string, options: RequestOptions = {}): Promise<ApiResponse> => {
      const body =
        options.json === undefined ? ((options.body as string | undefined) ?? '') : JSON.stringify(options.json);
      const headers = { ...(await sign(key, method, BASE_URL + path, body)), ...options.headers };
      return callApi(method, path, { ...options, headers });
    };
  return { get: send('GET'), post: send('POST'), put: send('PUT'), patch: send('PATCH'), delete: send('DELETE') };
}

/** Waits for a request that must succeed, and returns its body. */
export async function expectSuccess(answer: Promise<ApiResponse>): Promise<ApiResponse['body']> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export const makeAllow = (...actions: (Action | `${string}*`)[]): PolicyStatement => ({
  effect: 'Allow',
  actions,
  resources: ['*'],
});
export const makeDeny = (...actions: (Action | `${string}*`)[]): PolicyStatement => ({
  ...makeAllow(...actions),
  effect: 'Deny',
});

/** Stores a policy of the company. @returns its id */
export async function storePolicy(company: Pick<Company, 'id'>, statements: PolicyStatement[]): Promise<string> {
  const id = newId(Date.now());
  const document = JSON.stringify({ version: '2024-01-01', statements });
  await env.CONTROL_DB.prepare(
    'insert into policies (id, company_id, name, document, created_at, updated_at) values (?1, ?2, ?1, ?3, 0, 0)',
  )
    .bind(id, company.id, document)
    .run();
  return id;
}

/** Creates a group with these policies through the API. @returns its id */
export async function createPolicyGroup(company: Company, ...policyIds: string[]): Promise<string> {
  const admin = createSignedCaller(company.apiKey);
  const { id } = await expectSuccess(admin.post('/groups', { json: { name: `Group ${newId(Date.now())}` } }));
  for (const policyId of policyIds) await expectSuccess(admin.post(`/groups/${id}/policies/${policyId}`));
  return id;
}

/** A service account with a key, and a caller that signs with the key. */
export interface ServiceAccount {
  id: string;
  accountId: string;
  key: Key;
  keyId: string;
  as: Caller;
}

/** Creates a service account with a key in the default account (or `accountId`), in these groups. */
export async function createKeyedAccount(
  company: Company,
  groupIds: string[] = [],
  accountId = company.accountId,
): Promise<ServiceAccount> {
  const admin = createSignedCaller(company.apiKey);
  const { id } = await expectSuccess(
    admin.post('/service-accounts', { json: { name: 'Robot', account_id: accountId } }),
  );
  for (const groupId of groupIds) {
    const json = { principal_type: 'service_account', principal_id: id, account_id: accountId };
    await expectSuccess(admin.post(`/groups/${groupId}/bindings`, { json }));
  }
  const key = await expectSuccess(admin.post(`/service-accounts/${id}/keys`, { json: {} }));
  return { id, accountId, key, keyId: key.id, as: createSignedCaller(key) };
}

/** Creates a service account whose only policy has these statements. */
export async function createAllowedAccount(
  company: Company,
  ...statements: PolicyStatement[]
): Promise<ServiceAccount> {
  return createKeyedAccount(company, [await createPolicyGroup(company, await storePolicy(company, statements))]);
}

/** Exchanges a service account's key for a service token. @returns a caller with the token */
export async function createTokenCaller({ as }: Pick<ServiceAccount, 'as'>): Promise<Caller> {
  return createCaller((await expectSuccess(as.post('/tokens'))).token);
}

/** Creates a caller that sends a service account's key and secret in a fixed header. */
export const createSecretCaller = ({
  key,
}: {
  key: Pick<ServiceAccount['key'], 'access_key' | 'secret_key'>;
}): Caller => createCaller(`${key.access_key}:${key.secret_key}`);

let emailCount = 0;

/** Creates a user of the company, in no group. */
export async function createGrouplessUser(company: Company): Promise<{ id: string; email: string; password: string }> {
  emailCount += 1;
  const password = 'quiet-harbour-lantern';
  const { id, email } = await expectSuccess(
    createSignedCaller(company.apiKey).post('/users', {
      json: { email: `person-${emailCount}@${company.slug}.test`, password },
    }),
  );
  return { id, email, password };
}

/** Binds a user to a group, within the default account by default. @returns the binding */
export const bindUser = (company: Company, groupId: string, userId: string, accountId = company.accountId) =>
  expectSuccess(
    createSignedCaller(company.apiKey).post(`/groups/${groupId}/bindings`, {
      json: { principal_type: 'user', principal_id: userId, account_id: accountId },
    }),
  );
