import { expect } from 'vitest';
import { type ApiResponse, type Caller, callApi, createCaller } from '../support/api.ts';
import type { Company } from '../support/companies.ts';
import { readNewestMail } from '../support/mail.ts';

export const CONTEXTS_PATH = '/api/v1/share-contexts';

let contextCount = 0;

/** Creates a context with these grants and, as external members, these addresses. */
export async function createShareContext(
  { as }: Company,
  grants: Record<string, unknown>[] = [],
  emails: string[] = [],
): Promise<{ id: string; slug: string; members: { id: string }[] }> {
  const { status, body } = await as.post(CONTEXTS_PATH, { json: { name: `Circle ${++contextCount}`, grants } });
  expect([status, body]).toEqual([201, expect.anything()]);
  const members = [];
  for (const email of emails)
    members.push(await addContextMember(as, body.id, { member_type: 'external_email', email }));
  return { id: body.id, slug: body.slug, members };
}

/** Adds a member to a context. @returns the member */
export async function addContextMember(
  as: Caller,
  contextId: string,
  json: Record<string, unknown>,
): Promise<{ id: string }> {
  const { status, body } = await as.post(`${CONTEXTS_PATH}/${contextId}/members`, { json });
  expect([status, body]).toEqual([201, expect.anything()]);
  return body;
}

export const makeDashboardGrant = (id: string, policies: unknown[] = []) => ({
  target_type: 'dashboard',
  target_id: id,
  filter_policies: policies,
});

export const requestCode = ({ slug }: Pick<Company, 'slug'>, email: string): Promise<ApiResponse> =>
  callApi('POST', '/api/v1/share-auth/request', { json: { company_slug: slug, email } });

export const verifyCode = (
  { slug }: Pick<Company, 'slug'>,
  email: string,
  code: string,
  env?: Record<string, string>,
): Promise<ApiResponse> =>
  callApi('POST', '/api/v1/share-auth/verify', { json: { company_slug: slug, email, code }, env });

/** Reads the code in the newest mail to an address, as a person would. */
export function readPortalCode(email: string): string {
  const [code] = /^\d{4}-\d{4}$/m.exec(readNewestMail(email).text) ?? [];
  if (!code) throw new Error('There is no code in the mail.');
  return code;
}

/** Signs an outsider in to the portal with a mailed code. */
export async function signInOutsider(
  company: Company,
  email: string,
): Promise<{ as: Caller; tokens: ApiResponse['body'] }> {
  await requestCode(company, email);
  const { status, body } = await verifyCode(company, email, readPortalCode(email));
  expect(status).toBe(200);
  return { as: createCaller(body.access_token), tokens: body };
}

/** Returns callers of the portal's routes of one dashboard, through one context. */
export function createPortalClient(as: Caller, contextId: string, dashboard: string) {
  const path = `/api/v1/share-portal/dashboards/${dashboard}`;
  return {
    get: () => as.get(`${path}?context_id=${contextId}`),
    options: (slug: string, search = '') =>
      as.get(`${path}/filters/${slug}/options?context_id=${contextId}&search=${search}`),
    execute: (parameters: unknown = {}) => as.post(`${path}/execute`, { json: { context_id: contextId, parameters } }),
  };
}
