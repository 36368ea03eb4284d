import { env } from 'cloudflare:test';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { groupBindings, groupPolicies, groups } from '../../src/db/schema/groups.ts';
import { policies } from '../../src/db/schema/policies.ts';
import { users } from '../../src/db/schema/users.ts';
import { newId } from '../../src/kernel/ids.ts';
import { completeSignIn, type StartedSession } from '../../src/modules/sign-in/complete.ts';
import { selectUser, type User } from '../../src/modules/users/service.ts';
import { type ApiResponse, type Caller, callApi, createCaller } from './api.ts';
import { runInContext } from './context.ts';

let createdCount = 0;

/** Restarts the numbering of names, so that a file makes the same names whichever file ran before it. */
export const restartNumbering = (): void => {
  createdCount = 0;
};

/** The password of all users in the tests. */
export const PASSWORD = 'correct-horse-battery';

/** A company as its creation returned it, and its signed-in owner. */
export interface Company {
  id: string;
  slug: string;
  owner: { id: string; email: string; password: string };
  accountId: string;
  apiKey: { access_key: string; secret_key: string };
  /** A caller with the owner's session. */
  as: Caller;
  token: string;
  refreshToken: string;
}

/** Creates a company through the API. @returns the answer */
export async function createCompany(overrides: { slug?: string } = {}): Promise<ApiResponse> {
  createdCount += 1;
  const slug = overrides.slug ?? `company-${createdCount}-${Math.random().toString(36).slice(2, 8)}`;
  const owner = { email: `owner@${slug}.test`, name: 'Olga Owner', password: PASSWORD };
  return callApi('POST', '/admin/organizations', {
    headers: { authorization: `Bearer ${env.PLATFORM_ADMIN_TOKEN}` },
    json: { name: `Company ${createdCount}`, slug, owner },
  });
}

/** Creates a company and signs its owner in. */
export async function createOwnedCompany(overrides: { slug?: string } = {}): Promise<Company> {
  const { body } = await createCompany(overrides);
  const { slug, id } = body.organization;
  const { token, refreshToken } = await createSession(id, body.owner.id);
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

/** Creates a company with its own Postgres. */
export async function createProvisionedCompany(overrides: { slug?: string } = {}): Promise<Company> {
  const company = await createOwnedCompany(overrides);
  const { status, body } = await company.as.post('/v1/managed-tables/provision');
  if (status !== 200) throw new Error(`Provisioning answered ${status}: ${JSON.stringify(body)}`);
  return company;
}

/** Creates the session that every sign-in ends with, without the cost of checking a password. */
const createSession = (companyId: string, userId: string): Promise<StartedSession> =>
  runInContext({ kind: 'anonymous' }, async (ctx) => {
    const [user] = await selectUser(ctx.db, companyId, userId);
    return (await completeSignIn(ctx, user as User)) as StartedSession;
  });

export const logIn = (companySlug: string, email: string, password: string): Promise<ApiResponse> =>
  callApi('POST', '/v1/auth/login', { json: { company_slug: companySlug, email, password } });

/**
 * Creates a signed-in user of the company, with exactly the permissions of the statement. The user is written directly
 * to the database, so that tests of access do not depend on the routes that manage access.
 */
export async function createAllowedUser(
  company: Company,
  {
    can = [],
    on = ['*'],
    denied = [],
    deniedArns = ['*'],
  }: { can?: string[]; on?: string[]; denied?: string[]; deniedArns?: string[] } = {},
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
  const ownedColumns = { companyId: company.id, createdAt: now, updatedAt: now };
  const statements = [
    { effect: 'Allow' as const, actions: can, resources: on },
    { effect: 'Deny' as const, actions: denied, resources: deniedArns },
  ].filter(({ actions }) => actions.length > 0);
  const [owner] = await db.select().from(users).where(eq(users.id, company.owner.id));
  await db.batch([
    db.insert(users).values({ ...(owner as typeof users.$inferSelect), ...ownedColumns, id, email, isOwner: false }),
    db.insert(groups).values({
      ...ownedColumns,
      id: groupId,
      name: `Group ${createdCount}`,
      slug: `group-${createdCount}`,
      roles: [],
    }),
    db.insert(policies).values({
      ...ownedColumns,
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
  const { token } = await createSession(company.id, id);
  return { id, email, token, as: createCaller(token) };
}
