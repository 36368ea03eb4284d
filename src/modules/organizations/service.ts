import { commitAccess, makeAffectedPrincipals } from '../../access/commit-access.ts';
import { unknownRoute } from '../../access/failures.ts';
import type { AuthenticateOperator, Context } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Page, SearchRequest } from '../../db/page.ts';
import type { Quotas } from '../../db/schema/companies.ts';
import { invalidInput } from '../../kernel/failure.ts';
import { hashPassword } from '../../platform/passwords.ts';
import { areSecretsEqual } from '../../platform/secrets.ts';
import { DEFAULT_LOCALE } from '../../texts/locales.ts';
import { prepareAccount } from '../accounts/service.ts';
import {
  type Company,
  type CompanyOrder,
  type CompanyStatus,
  companySlugTaken,
  hasCompany,
  insertCompany,
  readCompanies,
  selectCompany,
  updateCompany,
  updateQuotas,
} from '../companies/service.ts';
import { prepareBinding, prepareGlobalGroup } from '../groups/service.ts';
import { prepareApiKey, prepareServiceAccount } from '../service-accounts/service.ts';
import { type DataUsage, NO_DATA_USAGE } from '../usage/queries.ts';
import { requireUnlikeOwner } from '../users/fields.ts';
import { prepareActiveUser } from '../users/service.ts';
import { resumeSenders } from '../webhooks/service.ts';
import { organizationDeleting, organizationNotFound, wrongOperatorToken } from './failures.ts';
import { type DayUsage, makeCompanyContext, measureCompanyData, readDataUsage, readUsage } from './usage.ts';

/** Slugs that could be mistaken for a part of a URL. */
const RESERVED_SLUGS = new Set(['contexts', 'dashboards', 'admin', 'api', 'www']);

/**
 * Creates a company with its default account, the global groups, its owner, and a service account with a key; the owner
 * and the service account are administrators. Either everything is stored or nothing.
 */
export async function createOrganization(
  ctx: Context,
  input: { name: string; slug: string; owner: { email: string; name: string; password: string } },
) {
  if (RESERVED_SLUGS.has(input.slug)) throw invalidInput([{ field: 'slug', message: 'is reserved; choose another' }]);
  if (await hasCompany(ctx, input.slug)) throw companySlugTaken();
  requireUnlikeOwner(input.owner.password, { ...input.owner, company: input }, 'owner.password');
  const now = ctx.now();
  const company: Company = {
    id: ctx.newId(),
    slug: input.slug,
    name: input.name,
    require2fa: false,
    ssoOnly: false,
    locale: DEFAULT_LOCALE,
    branding: {},
    logo: null,
    suspendedAt: null,
    endRequestedAt: null,
    deletesAt: null,
    quotas: {},
    createdAt: now,
    updatedAt: now,
  };
  const passwordHash = await hashPassword(input.owner.password);

  const account = prepareAccount(ctx, company.id, { name: 'default', isDefault: true, metadata: {} });
  const administrators = prepareGlobalGroup(ctx, company.id, 'administrators');
  const viewers = prepareGlobalGroup(ctx, company.id, 'viewers');
  const owner = prepareActiveUser(ctx, company.id, { ...input.owner, passwordHash, isOwner: true });
  const serviceAccount = prepareServiceAccount(ctx, company.id, {
    name: 'automation',
    description: 'Made with the organization; an administrator.',
    accountId: account.record.id,
    metadata: {},
  });
  const key = await prepareApiKey(ctx, company, serviceAccount.record, { description: 'Made with the organization.' });
  const membership = { companyId: company.id, groupId: administrators.record.id, accountId: account.record.id };

  await commitAccess(
    ctx,
    makeAffectedPrincipals(company.id),
    {
      company: insertCompany(ctx.db, company),
      account: account.statement,
      groups: [...administrators.statements, ...viewers.statements],
      owner: owner.statement,
      serviceAccount: serviceAccount.statement,
      key: key.statement,
      memberships: [
        prepareBinding(ctx, { ...membership, principalType: 'user', principalId: owner.record.id }).statement,
        prepareBinding(ctx, { ...membership, principalType: 'service_account', principalId: serviceAccount.record.id })
          .statement,
      ],
    },
    { 'companies.slug': companySlugTaken },
  );
  ctx.setOwner(company.id);
  return {
    company,
    owner: owner.record,
    account: account.record,
    serviceAccount: serviceAccount.record,
    apiKey: key.record,
    secretKey: key.secretKey,
  };
}

/** A company, and the amount of data it stores: of its Postgres and files as measured last. */
export interface Organization {
  company: Company;
  usage: DataUsage;
}

/** Returns a page of all companies, for the platform's operator. */
export async function listOrganizations(
  ctx: Context,
  status: CompanyStatus | 'deleting' | undefined,
  page: SearchRequest<CompanyOrder>,
): Promise<Page<Organization>> {
  const { records, ...found } = await readCompanies(ctx.db, status, page);
  return { ...found, records: await addDataUsage(ctx, records) };
}

async function addDataUsage(ctx: Context, companies: readonly Company[]): Promise<Organization[]> {
  const usageByCompany = await readDataUsage(
    ctx,
    companies.map(({ id }) => id),
  );
  return companies.map((company) => ({ company, usage: usageByCompany.get(company.id) ?? NO_DATA_USAGE }));
}

/** Returns a company, and how much data it stores now. */
export async function getOrganizationWithUsage(ctx: Context, id: string): Promise<Organization> {
  const company = await getOrganization(ctx, id);
  await measureCompanyData(makeCompanyContext(ctx, id));
  return addCompanyDataUsage(ctx, company);
}

export const addCompanyDataUsage = async (ctx: Context, company: Company): Promise<Organization> =>
  (await addDataUsage(ctx, [company]))[0] as Organization;

/** Replaces all quotas of a company. Data and users beyond a new quota stay. */
export async function setQuotas(ctx: Context, id: string, quotas: Quotas): Promise<Quotas> {
  const { changed } = await commit(ctx.db, { changed: updateQuotas(ctx.db, id, quotas, ctx.now()) });
  const [company] = changed;
  if (!company) throw organizationNotFound();
  return company.quotas;
}

/** Returns the usage of a company on each day of a range (ms), both ends included. */
export async function readOrganizationUsage(ctx: Context, id: string, from: number, to: number): Promise<DayUsage[]> {
  await getOrganization(ctx, id);
  return readUsage(makeCompanyContext(ctx, id), from, to);
}

export async function getOrganization(ctx: Context, id: string): Promise<Company> {
  const [company] = await selectCompany(ctx.db, id);
  if (!company) throw organizationNotFound();
  // What the operator does with it stands in its log, and ends with it.
  ctx.setOwner(company.id);
  return company;
}

/** Renames, suspends or reactivates a company. Takes effect at the next request: cached data of its principals is discarded. */
export async function changeOrganization(
  ctx: Context,
  id: string,
  changes: { name?: string | undefined; status?: CompanyStatus | undefined },
): Promise<Organization> {
  const organizationBefore = await getOrganization(ctx, id);
  const { changed } = await commitAccess(
    ctx,
    { companyId: organizationBefore.id, principals: 'everybody' },
    { changed: updateCompany(ctx.db, organizationBefore.id, changes, ctx.now()) },
  );
  const [company] = changed;
  if (company) {
    // Also where it was active: the try before may have ended before this.
    if (changes.status === 'active') await resumeSenders(ctx, company.id);
    return addCompanyDataUsage(ctx, company);
  }
  throw organizationDeleting((await getOrganization(ctx, id)).deletesAt ?? undefined);
}

/** Checks the operator's token. If none is configured, the operator's routes do not exist. */
export const authenticateOperator: AuthenticateOperator = async (ctx, request) => {
  const configuredToken = ctx.config.PLATFORM_ADMIN_TOKEN;
  if (configuredToken === undefined) throw unknownRoute();
  const sentToken = /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1];
  if (sentToken === undefined || !(await areSecretsEqual(sentToken, configuredToken))) throw wrongOperatorToken();
};
