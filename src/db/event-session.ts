import { changeStatement, EXECUTING_METHODS } from './guarded-session.ts';

/** Tables whose triggers write events. A test compares the list with the migrations. */
export const EVENT_TABLES = [
  'users',
  'invitations',
  'groups',
  'group_bindings',
  'policies',
  'group_policies',
  'service_accounts',
  'api_keys',
  'companies',
  'sso_configurations',
  'social_configurations',
  'data_jobs',
  'schedules',
  'knowledge_suggestions',
  'knowledge_jobs',
] as const;

const EVENT_WRITE_PATTERN = new RegExp(
  `\\b(?:insert(?: or \\w+)? into|replace into|update(?: or \\w+)?|delete from)\\s+["\`]?(?:${EVENT_TABLES.join('|')})\\b`,
  'i',
);

/**
 * SQL of the active companies with one of the twenty newest events, which the change just written is among. It selects
 * `company_id`.
 */
export const COMPANIES_WITH_EVENTS = `
  select distinct newest.company_id from (select company_id from events order by rowid desc limit 20) as newest
  where exists (select 1 from companies where companies.id = newest.company_id and suspended_at is null)`;

/** Creates a session that reports companies with new events; the scheduled run finds events not reported. */
export function createEventWatchingSession(
  session: D1DatabaseSession,
  onEvents: (companyIds: readonly string[]) => void,
): D1DatabaseSession {
  const eventStatements = new WeakSet<D1PreparedStatement>();
  const reportCompanies = async () => {
    const { results } = await session.prepare(COMPANIES_WITH_EVENTS).all<{ company_id: string }>();
    if (results.length > 0) onEvents(results.map(({ company_id: companyId }) => companyId));
  };
  const watchStatement = (statement: D1PreparedStatement): void => {
    eventStatements.add(statement);
    for (const name of EXECUTING_METHODS) {
      const runStatement = statement[name].bind(statement) as (...values: unknown[]) => Promise<unknown>;
      Object.assign(statement, {
        [name]: async (...values: unknown[]) => {
          const result = await runStatement(...values);
          await reportCompanies();
          return result;
        },
      });
    }
  };
  return {
    prepare: (sql: string) => {
      const statement = session.prepare(sql);
      return EVENT_WRITE_PATTERN.test(sql) ? changeStatement(statement, watchStatement) : statement;
    },
    async batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
      if (!statements.some((statement) => eventStatements.has(statement))) return session.batch<T>(statements);
      const results = await session.batch<T>([...statements, session.prepare(COMPANIES_WITH_EVENTS)]);
      const waitingCompanies = (results.pop() as unknown as D1Result<{ company_id: string }>).results;
      if (waitingCompanies.length > 0) onEvents(waitingCompanies.map(({ company_id: companyId }) => companyId));
      return results;
    },
    getBookmark: () => session.getBookmark(),
  } as D1DatabaseSession;
}
