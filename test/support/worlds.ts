import { env } from 'cloudflare:test';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { groupBindings, groupPolicies, groups } from '../../src/db/schema/groups.ts';
import { policies } from '../../src/db/schema/policies.ts';
import { users } from '../../src/db/schema/users.ts';
import { newId } from '../../src/kernel/ids.ts';
import { completeSignIn, type SignedIn } from '../../src/modules/sign-in/complete.ts';
import { selectUser, type User } from '../../src/modules/users/service.ts';
import { type ApiResponse, type Caller, call, createCaller } from './api.ts';
import { inContext } from './context.ts';

let createdCount = 0;

/** Counts names from 1 again, so that a file makes the same names whichever ran before it. */
export const countAnew = (): void => {
  createdCount = 0;
};

/** The password of everybody in the tests. */
export const PASSWORD = 'correct-horse-battery';

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

/** Creates a company through the API. */
export async function createCompany(overrides: { slug?: string } = {}): Promise<ApiResponse> {
  createdCount += 1;
  const slug = overrides.slug ?? `company-${createdCount}-${Math.random().toString(36).slice(2, 8)}`;
  const owner = { email: `owner@${slug}.test`, name: 'Olga Owner', password: PASSWORD };
  return call('POST', '/admin/organizations', {
    headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
    json: { name: `Company ${createdCount}`, slug, owner },
  });
}

/** A company with its owner signed in. */
export async function aCompany(overrides: { slug?: string } = {}): Promise<Company> {
  const { body } = await createCompany(overrides);
  const { slug, id } = body.organization;
  const { token, refreshToken } = await aSession(id, body.owner.id);
  return {
    id,
    slug,
    owner: { id: body.owner.id, email: body.owner.email, password: PASSWORD },
    accountId: body.default_account.id,
    apiKey: body.api_key,
    as: createCaller(token),
    token,
    refreshToken,
  };
}

/** A company with its own Postgres. */
export async function aProvisionedCompany(overrides: { slug?: string } = {}): Promise<Company> {
  const company = await aCompany(overrides);
  const { status, body } = await company.as.post('/v1/managed-tables/provision');
  if (status !== 200) throw new Error(`Provisioning answered ${status}: ${JSON.stringify(body)}`);
  return company;
}

/** A session as every way of signing in ends with one, without the work of checking a password. */
const aSession = (companyId: string, userId: string): Promise<SignedIn> =>
  inContext({ kind: 'anonymous' }, async (ctx) => {
    const [user] = await selectUser(ctx.db, companyId, userId);
    return (await completeSignIn(ctx, user as User)) as SignedIn;
  });

export const logIn = (companySlug: string, email: string, password: string): Promise<ApiResponse> =>
  call('POST', '/v1/auth/login', { json: { company_slug: companySlug, email, password } });

/**
 * A person of the company, signed in, who may do what the statement says and nothing else. Made in the database itself,
 * so that tests of access do not depend on the routes that manage it.
 */
export async function aUser(
  company: Company,
  {
    can = [],
    on = ['*'],
    denied = [],
    deniedOn = ['*'],
  }: { can?: string[]; on?: string[]; denied?: string[]; deniedOn?: string[] } = {},
): Promise<{ id: string; email: string; token: string; as: Caller }> {
  createdCount += 1;
  const db = drizzle(env.CONTROL_DB);
  const [id, groupId, policyId, bindingId] = Array.from({ length: 4 }, () => newId(Date.now())) as [
    string,
    string,
    string,
    string,
  ];
  const now = Date.now();
  const email = `user-${createdCount}@${company.slug}.test`;
  const owned = { companyId: company.id, createdAt: now, updatedAt: now };
  const statements = [
    { effect: 'Allow' as const, actions: can, resources: on },
    { effect: 'Deny' as const, actions: denied, resources: deniedOn },
  ].filter(({ actions }) => actions.length > 0);
  const [owner] = await db.select().from(users).where(eq(users.id, company.owner.id));
  await db.batch([
    db.insert(users).values({ ...(owner as typeof users.$inferSelect), ...owned, id, email, isOwner: false }),
    db
      .insert(groups)
      .values({ ...owned, id: groupId, name: `Group ${createdCount}`, slug: `group-${createdCount}`, roles: [] }),
    db.insert(policies).values({
      ...owned,
      id: policyId,
      name: `Policy ${createdCount}`,
      document: { version: '2024-01-01', statements },
    }),
    db.insert(groupPolicies).values({ companyId: company.id, groupId, policyId }),
    db.insert(groupBindings).values({
      id: bindingId,
      companyId: company.id,
      groupId,
      principalType: 'user',
      principalId: id,
      accountId: company.accountId,
      createdAt: now,
    }),
  ]);
  const { token } = await aSession(company.id, id);
  return { id, email, token, as: createCaller(token) };
}
