import { afterAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/kernel/failure.ts';
import { getDatabaseMessage } from '../../src/tenant-sql/failures.ts';
import { ALLOWED_FUNCTIONS, ALLOWED_TYPES } from '../../src/tenant-sql/user-sql-functions.ts';
import refusedFunctions from './refused-functions.txt?raw';
import { createTenantWithTables } from './user-sql-support.ts';

const testTenant = await createTenantWithTables();
afterAll(async () => {
  await testTenant?.owner.close();
});

const listNames = async (query: string): Promise<string[]> => {
  const rows = await testTenant.owner.query<{ name: string }>(query);
  return rows.map(({ name }) => name).sort();
};

/** The refused types: types that look names up, and internal types of PostgreSQL; with their array types. */
const REFUSED_TYPES = `
  aclitem pg_brin_bloom_summary pg_brin_minmax_multi_summary pg_ddl_command pg_dependencies pg_mcv_list
  pg_ndistinct pg_node_tree pg_snapshot regclass regcollation regconfig regdictionary regnamespace regoper regoperator
  regproc regprocedure regrole regtype`.match(/\w+/g) as string[];

const REFUSED_TYPE_CONDITION = `IN (SELECT oid FROM pg_type WHERE ltrim(typname, '_') = ANY ('{${REFUSED_TYPES.join(',')}}'))`;

describe('the function and type names that user SQL may use', () => {
  it('are all functions of Postgres except those refused by name, so that a new function of Postgres fails this test', async () => {
    const allFunctions = await listNames('SELECT DISTINCT proname AS name FROM pg_proc');
    const refusedNames = refusedFunctions.match(/\w+/g) as string[];
    expect(allFunctions.filter((name) => !ALLOWED_FUNCTIONS.has(name))).toEqual([...refusedNames].sort());
    expect([...ALLOWED_FUNCTIONS].filter((name) => !allFunctions.includes(name))).toEqual([]);
  });

  it('are all types of Postgres except those refused by name', async () => {
    const allTypes = await listNames(`SELECT typname AS name FROM pg_type
      WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype <> 'c' AND typelem = 0 OR typname IN ('point', 'box', 'lseg')`);
    expect(allTypes.filter((name) => !ALLOWED_TYPES.has(name))).toEqual(REFUSED_TYPES);
  });

  it('include no function that returns a refused type, or that takes a refused type other than a text search language', async () => {
    const foundFunctions = await testTenant.owner.query<{ signature: string }>(`
      SELECT DISTINCT p.oid::regprocedure::text AS signature
      FROM pg_proc AS p, unnest(p.prorettype || string_to_array(p.proargtypes::text, ' ')::oid[] || coalesce(p.proallargtypes, '{}')) AS used
      WHERE p.proname = ANY ('{${[...ALLOWED_FUNCTIONS].join(',')}}') AND used ${REFUSED_TYPE_CONDITION}`);
    const other = foundFunctions.filter(
      ({ signature }) => !/^(json_|jsonb_)?(to_tsvector|ts_headline)\(|tsquery\(/.test(signature),
    );
    expect(other).toEqual([]);
    const returningFunctions = await listNames(`SELECT proname AS name FROM pg_proc
      WHERE proname = ANY ('{${[...ALLOWED_FUNCTIONS].join(',')}}') AND prorettype ${REFUSED_TYPE_CONDITION}`);
    expect(returningFunctions).toEqual([]);
  });

  it('do not let an operator on texts look up a name of a role', async () => {
    const operators = await listNames(`SELECT DISTINCT oprname AS name FROM pg_operator
      WHERE oprleft ${REFUSED_TYPE_CONDITION} OR oprright ${REFUSED_TYPE_CONDITION} OR oprresult ${REFUSED_TYPE_CONDITION}`);
    expect(operators).toEqual(['+', '-', '=', '@>']);
    for (const operator of operators) {
      for (const [left, right] of [
        ["'nobody=r/nobody'", "'nobody=r/nobody'"],
        ["'{nobody=r/nobody}'", "'nobody=r/nobody'"],
      ]) {
        const operatorOutcome = await testTenant
          .run(`SELECT ${left} ${operator} ${right}`)
          .catch((error: Failure) => error);
        const failureMessage = operatorOutcome instanceof Failure ? getDatabaseMessage(operatorOutcome) : '';
        expect(failureMessage, operator).not.toMatch(/role|aclitem/);
      }
    }
  });
});

describe('ordinary SQL of an analyst', () => {
  it.each([
    `WITH monthly (month, total) AS (
       SELECT date_trunc('month', DATE '2024-01-31' + n), sum(n)::numeric(10, 2) FROM sales GROUP BY 1
     ) SELECT to_char(month, 'YYYY-MM'), round(total, 1), lag(total) OVER (ORDER BY month) FROM monthly`,
    `SELECT count(*) FILTER (WHERE n > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY n), string_agg(n::text, ', ' ORDER BY n),
       array_agg(DISTINCT n), stddev_samp(n), mode() WITHIN GROUP (ORDER BY n) FROM sales`,
    `SELECT n, row_number() OVER w, ntile(2) OVER w, first_value(n) OVER (PARTITION BY n % 2 ORDER BY n) FROM sales WINDOW w AS (ORDER BY n)`,
    `SELECT coalesce(nullif(trim(both ' ' FROM 'a '), ''), 'x'), greatest(1, 2), substring('abc' FROM 2 FOR 1), position('b' IN 'abc'),
       extract(year FROM now()), overlay('abc' PLACING 'x' FROM 2), CAST('12.5' AS decimal(10, 2)), 'abc'::varchar(2)`,
    `SELECT g::date, left(md5(g::text), 4), pg_size_pretty(1024::bigint)
       FROM generate_series(DATE '2024-01-01', DATE '2024-01-07', INTERVAL '1 day') AS g`,
    `SELECT key, value ->> 'a' FROM jsonb_each('{"k": {"a": 1}}'::jsonb), json_to_recordset('[{"a": 1}]') AS r(a integer, "B" text)`,
    `SELECT (SELECT max(n) FROM sales), EXISTS (SELECT FROM sales), ARRAY(SELECT n FROM sales), ROW(1, 2) = ROW(1, 2), 2 IN (1, 2),
       (1, 2) IN (VALUES (1, 2)), 2 = ANY (ARRAY[1, 2]), 1 BETWEEN 0 AND 2`,
    `SELECT s.n, pair.b FROM sales AS s JOIN (VALUES (1, 'x'), (2, 'y')) AS pair (a, b) ON (s.n = pair.a) CROSS JOIN LATERAL (SELECT s.n * 2) AS twice (m)`,
    `SELECT n, sum(n) FROM sales GROUP BY GROUPING SETS ((n), ()), ROLLUP (n) HAVING grouping(n) < 2`,
    `WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r`,
    `SELECT to_tsvector('english', 'big cats') @@ to_tsquery('english', 'cat'), 'abc' ILIKE '%B%', 'abc' ~ '^a', regexp_replace('a1', '\\d', '')`,
    `SELECT json_build_object('a', n), row_to_json(s), s.row_to_json, to_jsonb(s) FROM sales AS s`,
    `SELECT s.left, s.date_in, s.json_out, s.date_send, current_setting FROM (VALUES (1, 2, 3, 4, 5)) AS s ("left", date_in, json_out, date_send, current_setting)`,
    `SELECT * FROM sales TABLESAMPLE bernoulli (50) REPEATABLE (1)`,
    `SELECT current_setting('TimeZone'), n AS "type", n AS name, n AS version, n AS user_name FROM sales AS "trigger"`,
    `SELECT width_bucket(n, 0, 10, 5), random() < 2, gen_random_uuid() IS NOT NULL, age(now(), now()), make_date(2024, 1, 1) FROM sales`,
  ])('is run: %s', async (text) => {
    await expect(testTenant.run(text)).resolves.toMatchObject({ truncated: false });
  });

  it('is run on the company’s tables even if they are named like system names', async () => {
    for (const name of ['pg_sales', 'version', 'tables']) {
      await testTenant.owner.query(
        `CREATE TABLE public.${name} (pg_typeof integer); INSERT INTO public.${name} VALUES (1)`,
      );
      expect((await testTenant.run(`SELECT * FROM ${name}`)).rows).toEqual([[1]]);
    }
  });
});

describe('names of objects that user SQL may not see', () => {
  const LEAK_STATEMENTS = [
    'SELECT regclassout(16400)',
    'SELECT "regclassout"(16400)',
    'SELECT pg_catalog . regclassout /* */ (16400)',
    'SELECT format_type(16400, NULL)',
    "SELECT has_table_privilege('console.secret', 'SELECT')",
    "SELECT has_schema_privilege('trash', 'USAGE')",
    "SELECT has_any_column_privilege(n::oid, 'SELECT') FROM sales",
    "SELECT aclexplode(acldefault('r', 10))",
    "SELECT makeaclitem(10, 10, 'SELECT', false)",
    "SELECT 'postgres=r/postgres'::aclitem",
    "SELECT '{postgres=r/postgres}'::_aclitem",
    "SELECT CAST('postgres=r/postgres' AS pg_catalog.aclitem)",
    "SELECT current_setting('data_directory')",
    "SELECT current_setting('time' || 'zone')",
    "SELECT current_setting('timezone', true)",
    "SELECT ARRAY[pg_typeof(1), '16400']",
    "SELECT ARRAY[(s).pg_typeof, '16400'] FROM sales AS s",
    "SELECT ARRAY[s.pg_typeof, '16400'] FROM sales AS s",
    "SELECT ARRAY[(NULL::pg_sequences).data_type, '16400']",
    "SELECT ('data_directory').current_setting",
    'SELECT setting . "current_setting" FROM lower(\'data_directory\') AS setting',
    "SELECT (ARRAY['console.secret'])[1].to_regclass IS NULL",
    'SELECT (16400::oid).pg_get_viewdef',
    'SELECT n.pg_get_userbyid FROM generate_series(10, 11) AS n',
    'SELECT (NULL::integer).pg_stat_get_activity',
    "SELECT ARRAY[(NULL::pg_catalog.pg_type).typinput, '16400']",
    'SELECT r FROM json_to_recordset(\'[{"a": 16400}]\') AS r(a regtype)',
    "SELECT * FROM json_table('[16400]', '$[*]' COLUMNS (a regclass PATH '$'))",
    "SELECT * FROM xmltable('/a' PASSING '<a>16400</a>' COLUMNS a regclass PATH '.')",
    "SELECT json_value('16400', '$' RETURNING regrole)",
    "SELECT regrole '10'",
    'SELECT pg_get_userbyid(10)',
    'SELECT pg_describe_object(1259, 16400, 0)',
    'SELECT getpgusername()',
    'SELECT current_schemas(true)',
    "SELECT currtid2('console.secret', '(0,1)')",
    "SELECT row_security_active('console.secret')",
    'SELECT * FROM information_schema.enabled_roles',
    'SELECT information_schema._pg_truetypid(NULL, NULL)',
    'WITH format_type (a) AS (SELECT 1) SELECT format_type(16400, a) FROM format_type',
    "SELECT 1 WHERE (SELECT oidvectortypes('16400 16401')) IS NOT NULL",
  ];

  it.each(LEAK_STATEMENTS)('are not revealed by: %s', async (text) => {
    const failure = await testTenant.failureOf(text);
    expect([failure.reason, getDatabaseMessage(failure)]).toEqual([
      'user_sql.refused',
      expect.stringMatching(/^\S+ is not available here$/),
    ]);
  });
});
