import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { companies } from '../../db/schema/companies.ts';
import type { Locale } from '../../texts/locales.ts';

/** Returns the SQL condition that the company of a row is not suspended. */
export const isCompanyActive = (companyId: SQLWrapper): SQL =>
  sql`not exists (select 1 from ${companies} where ${companies.id} = ${companyId} and ${companies.suspendedAt} is not null)`;

/** The company columns that a mail needs, where they are read together with another row that has a name. */
export const COMPANY_MAIL_COLUMNS = {
  name: sql<string>`${companies.name}`.as('company_name'),
  locale: sql<Locale>`${companies.locale}`.as('company_locale'),
  id: sql<string>`${companies.id}`.as('mailed_company_id'),
  branding: companies.branding,
  logo: companies.logo,
};
