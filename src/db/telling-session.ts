import { EXECUTING_METHODS } from './guarded-session.ts';

/** The tables whose triggers write events. A test holds them against the migrations. */
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

/** Active companies with waiting events: a seek for each, so that no write reads another's. It tells `company_id`. */
export const COMPANIES_WITH_EVENTS = `
  with recursive waiting (company_id) as (
    select min(company_id) from events
    union all
    select (select min(company_id) from events where company_id > waiting.company_id) from waiting where company_id is not null
    limit 20
  )
  select company_id from waiting
  where exists (select 1 from companies where companies.id = waiting.company_id and suspended_at is null)`;

/** Says which companies' events a session may have written. A miss does no harm: the scheduled run looks for itself. */
export function createEventWatchingSession(
  session: D1DatabaseSession,
  told: (companyIds: readonly string[]) => void,
): D1DatabaseSession {
  const telling = new WeakSet<D1PreparedStatement>();
  const look = async () => {
    const { results } = await session.prepare(COMPANIES_WITH_EVENTS).all<{ company_id: string }>();
    if (results.length > 0) told(results.map(({ company_id: companyId }) => companyId));
  };
  const watch = (statement: D1PreparedStatement): D1PreparedStatement => {
    telling.add(statement);
    const bind = statement.bind.bind(statement);
    statement.bind = (...values) => watch(bind(...values));
    for (const name of EXECUTING_METHODS) {
      const run = statement[name].bind(statement) as (...values: unknown[]) => Promise<unknown>;
      Object.assign(statement, {
        [name]: async (...values: unknown[]) => {
          const result = await run(...values);
          await look();
          return result;
        },
      });
    }
    return statement;
  };
  return {
    prepare: (sql: string) => {
      const statement = session.prepare(sql);
      return EVENT_WRITE_PATTERN.test(sql) ? watch(statement) : statement;
    },
    async batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
      if (!statements.some((statement) => telling.has(statement))) return session.batch<T>(statements);
      const results = await session.batch<T>([...statements, session.prepare(COMPANIES_WITH_EVENTS)]);
      const waiting = (results.pop() as unknown as D1Result<{ company_id: string }>).results;
      if (waiting.length > 0) told(waiting.map(({ company_id: companyId }) => companyId));
      return results;
    },
    getBookmark: () => session.getBookmark(),
  } as D1DatabaseSession;
}
