import { env } from 'cloudflare:test';
import { type Answer, bearer, type Caller, call } from './api.ts';

let made = 0;

const PASSWORD = 'correct-horse-battery';

/** A company as its founding answered it, and its owner, signed in. */
export interface Company {
  id: string;
  slug: string;
  owner: { id: string; email: string; password: string };
  accountId: string;
  apiKey: { access_key: string; secret_key: string };
  /** The owner's requests. */
  as: Caller;
  token: string;
  refreshToken: string;
}

/** Founds a company through the API. */
export async function foundCompany(overrides: { slug?: string } = {}): Promise<Answer> {
  made += 1;
  const slug = overrides.slug ?? `company-${made}-${Math.random().toString(36).slice(2, 8)}`;
  const owner = { email: `owner@${slug}.test`, name: 'Olga Owner', password: PASSWORD };
  return call('POST', '/admin/organizations', {
    headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
    json: { name: `Company ${made}`, slug, owner },
  });
}

/** A company with its owner signed in. */
export async function aCompany(): Promise<Company> {
  const { body } = await foundCompany();
  const { slug, id } = body.organization;
  const login = await logIn(slug, body.owner.email, PASSWORD);
  return {
    id,
    slug,
    owner: { id: body.owner.id, email: body.owner.email, password: PASSWORD },
    accountId: body.default_account.id,
    apiKey: body.api_key,
    as: bearer(login.body.token),
    token: login.body.token,
    refreshToken: login.body.refresh_token,
  };
}

/** A company with its own Postgres. */
export async function aProvisionedCompany(): Promise<Company> {
  const company = await aCompany();
  const { status, body } = await company.as.post('/v1/managed-tables/provision');
  if (status !== 200) throw new Error(`Provisioning answered ${status}: ${JSON.stringify(body)}`);
  return company;
}

export const logIn = (companySlug: string, email: string, password: string): Promise<Answer> =>
  call('POST', '/v1/auth/login', { json: { company_slug: companySlug, email, password } });
