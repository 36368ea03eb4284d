import { env } from 'cloudflare:test';
import { type Key, sign } from '../../examples/signing/sign.ts';
import { newId } from '../../src/kernel/ids.ts';
import type { Action } from '../../src/permissions/actions.ts';
import type { PolicyStatement } from '../../src/permissions/policy-document.ts';
import { type ApiResponse, BASE_URL, type Caller, call, createCaller, type RequestOptions } from './api.ts';
import type { Company } from './worlds.ts';

/** Requests signed with a key, as the published example signs them. */
export function signed(key: Key): Caller {
  const send =
    (method: string) =>
    async (path: string, sending: RequestOptions = {}): Promise<ApiResponse> => {
      const body =
        sending.json === undefined ? ((sending.body as string | undefined) ?? '') : JSON.stringify(sending.json);
      const headers = { ...(await sign(key, method, BASE_URL + path, body)), ...sending.headers };
      return call(method, path, { ...sending, headers });
    };
  return { get: send('GET'), post: send('POST'), put: send('PUT'), patch: send('PATCH'), delete: send('DELETE') };
}

/** A request that must succeed, and its body. */
export async function must(answer: Promise<ApiResponse>): Promise<ApiResponse['body']> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

export const allow = (...actions: (Action | `${string}*`)[]): PolicyStatement => ({
  effect: 'Allow',
  actions,
  resources: ['*'],
});
export const deny = (...actions: (Action | `${string}*`)[]): PolicyStatement => ({
  ...allow(...actions),
  effect: 'Deny',
});

/** A policy of the company, stored. @returns its id */
export async function aPolicy(company: Pick<Company, 'id'>, statements: PolicyStatement[]): Promise<string> {
  const id = newId(Date.now());
  const document = JSON.stringify({ version: '2024-01-01', statements });
  await env.CONTROL_DB.prepare(
    'insert into policies (id, company_id, name, document, created_at, updated_at) values (?1, ?2, ?1, ?3, 0, 0)',
  )
    .bind(id, company.id, document)
    .run();
  return id;
}

/** A group with these policies, made through the API. @returns its id */
export async function aGroup(company: Company, ...policyIds: string[]): Promise<string> {
  const admin = signed(company.apiKey);
  const { id } = await must(admin.post('/groups', { json: { name: `Group ${newId(Date.now())}` } }));
  for (const policyId of policyIds) await must(admin.post(`/groups/${id}/policies/${policyId}`));
  return id;
}

/** A service account with a key, bound to groups within its account. */
export interface ServiceAccount {
  id: string;
  accountId: string;
  key: Key;
  keyId: string;
  as: Caller;
}

/** A service account in the default account (or `accountId`), in these groups. */
export async function aServiceAccount(
  company: Company,
  groupIds: string[] = [],
  accountId = company.accountId,
): Promise<ServiceAccount> {
  const admin = signed(company.apiKey);
  const { id } = await must(admin.post('/service-accounts', { json: { name: 'Robot', account_id: accountId } }));
  for (const groupId of groupIds) {
    const json = { principal_type: 'service_account', principal_id: id, account_id: accountId };
    await must(admin.post(`/groups/${groupId}/bindings`, { json }));
  }
  const key = await must(admin.post(`/service-accounts/${id}/keys`, { json: {} }));
  return { id, accountId, key, keyId: key.id, as: signed(key) };
}

/** A service account whose only policy has these statements. */
export async function aServiceAccountThat(company: Company, ...statements: PolicyStatement[]): Promise<ServiceAccount> {
  return aServiceAccount(company, [await aGroup(company, await aPolicy(company, statements))]);
}

/** Requests of a service account with a service token, which its key is exchanged for. */
export async function withServiceToken({ as }: Pick<ServiceAccount, 'as'>): Promise<Caller> {
  return createCaller((await must(as.post('/tokens'))).token);
}

/** Requests of a service account with its key and secret, as a fixed header. */
export const withSecret = ({ key }: { key: Pick<ServiceAccount['key'], 'access_key' | 'secret_key'> }): Caller =>
  createCaller(`${key.access_key}:${key.secret_key}`);

let emails = 0;

/** A user of the company, in no group. */
export async function aUser(company: Company): Promise<{ id: string; email: string; password: string }> {
  emails += 1;
  const password = 'quiet-harbour-lantern';
  const { id, email } = await must(
    signed(company.apiKey).post('/users', { json: { email: `person-${emails}@${company.slug}.test`, password } }),
  );
  return { id, email, password };
}

/** Binds a user to a group, within the default account unless said otherwise. @returns the binding */
export const bind = (company: Company, groupId: string, userId: string, accountId = company.accountId) =>
  must(
    signed(company.apiKey).post(`/groups/${groupId}/bindings`, {
      json: { principal_type: 'user', principal_id: userId, account_id: accountId },
    }),
  );
