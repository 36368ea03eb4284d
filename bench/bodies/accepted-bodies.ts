import type { System } from '../system.ts';

/** Pair of bodies that a route accepts: an ordinary one, and the most costly valid one of the same size. */
export interface AcceptedBodies {
  bodyLabel: string;
  prepare(system: System): Promise<{ method: string; path: string }>;
  /** Makes an ordinary body. `n` differs in each call, for names that must be unique. */
  makeOrdinaryBody(n: number): object;
  makeCostlyBody(n: number): object;
}

const makeList = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));
const preparePost = (path: string) => async () => ({ method: 'POST', path });

const makePolicy = (n: number, statements: object[]) => ({
  name: `policy ${n}`,
  document: { version: '2024-01-01', statements },
});
const makeAllowStatement = (resources: string[]) => ({ effect: 'Allow', actions: ['visualizations:get'], resources });
/** Resource patterns of 20 KiB in total, which almost match a resource. */
const STAR_PATTERNS = makeList(35, (n) => `arn:svc:${'*a'.repeat(250)}${n}`);
const PLAIN_PATTERNS = makeList(35, (n) => `arn:svc:${'ba'.repeat(250)}${n}`);

/** Creates a user in a group of its own, with a policy on these resources. @returns the user's id */
async function createUserWithPolicy(system: System, name: string, resources: string[]): Promise<string> {
  const { _id: policyId } = await system.call('POST', '/v1/policies', {
    ...makePolicy(0, [makeAllowStatement(resources)]),
    name: `simulated ${name}`,
  });
  const group = { name, slug: name, description: 'Of the bench, simulated.' };
  const { _id: groupId } = await system.call('POST', '/v1/groups', group);
  await system.call('POST', `/v1/groups/${groupId}/policies/${policyId}`);
  const user = await system.call('POST', '/v1/users/invite', { email: `${name}@bench.test`, group_ids: [groupId] });
  return user._id;
}

const simulatedUserIds = { plain: '', stars: '' };
const makeSimulation = (id: string) => ({
  principal: { type: 'user', id },
  checks: makeList(100, (n) => ({ action: 'visualizations:get', resource: `arn:svc:${'a'.repeat(500)}${n % 10}` })),
});

const makeColumn = (name: string, type: string) => ({ name, display_name: name, type, nullable: true });
const makeTable = async (system: System, name: string, columns: object[]): Promise<string> =>
  (await system.call('POST', '/v1/managed-tables', { display_name: name, columns }))._id;

const ROWS_BODY_BYTES = 1_000_000;
/** Repeats a row as often as a request body of one mebibyte and the row limit of a request allow. */
const fillBodyWithRows = (row: object) =>
  makeList(Math.min(1000, Math.floor(ROWS_BODY_BYTES / JSON.stringify(row).length)), () => row);

const makeVisualization = (n: number, sql: string, parameters: object[] = []) => ({
  name: `sql ${n}`,
  sql: sql.slice(0, 19_900),
  parameters,
});
const makeParameter = (n: number) => ({ slug: `p${n}`, label: 'P', kind: 'text' });

const KNOWLEDGE_ITEM = { kind: 'mapping', description: 'Of the bench.', mapped_tables: ['medidas'] };

const makeConcept = (n: number, index: number, aliases: string[]) => ({
  name: `concept ${n} ${index}`,
  description: 'd'.repeat(aliases.length > 0 ? 10 : 900),
  type: 'term',
  aliases,
});

export const ACCEPTED_BODIES: AcceptedBodies[] = [
  {
    bodyLabel: 'a policy of 100 statements',
    prepare: preparePost('/v1/policies'),
    makeOrdinaryBody: (n) => makePolicy(n, [makeAllowStatement(PLAIN_PATTERNS.slice(0, 20))]),
    makeCostlyBody: (n) =>
      makePolicy(
        n,
        makeList(100, (index) => makeAllowStatement([`arn:svc:${'*a'.repeat(20)}${index}`])),
      ),
  },
  {
    bodyLabel: 'a simulation over 20 KiB of patterns with stars',
    prepare: async (system) => {
      simulatedUserIds.plain = await createUserWithPolicy(system, 'plain', PLAIN_PATTERNS);
      simulatedUserIds.stars = await createUserWithPolicy(system, 'stars', STAR_PATTERNS);
      return { method: 'POST', path: '/v1/policies/simulate' };
    },
    makeOrdinaryBody: () => makeSimulation(simulatedUserIds.plain),
    makeCostlyBody: () => makeSimulation(simulatedUserIds.stars),
  },
  {
    bodyLabel: 'SQL of many optional parts',
    prepare: preparePost('/v1/visualizations'),
    makeOrdinaryBody: (n) => makeVisualization(n, `SELECT 1 ${'-- a comment that is honest\n'.repeat(1000)}`),
    makeCostlyBody: (n) =>
      makeVisualization(n, `SELECT 1 WHERE true ${'[[AND 1={{p0}}]]'.repeat(250)}`, [makeParameter(0)]),
  },
  {
    bodyLabel: 'SQL of many quotes',
    prepare: preparePost('/v1/visualizations'),
    makeOrdinaryBody: (n) => makeVisualization(n, `SELECT 1 ${'-- a comment that is honest\n'.repeat(1000)}`),
    makeCostlyBody: (n) => makeVisualization(n, `SELECT ${"'',$$$$,".repeat(2400)}1`),
  },
  {
    bodyLabel: 'a schedule of a day that is rare',
    prepare: async (system) => {
      const visualization = await system.call('POST', '/v1/visualizations', { name: 'sent', sql: 'SELECT 1 AS n' });
      const { _id } = await system.call('POST', '/v1/dashboards', {
        name: 'sent',
        layout: [{ visualization_id: visualization._id, x: 0, y: 0, w: 1, h: 1 }],
      });
      createdIds.dashboard = _id;
      createdIds.user = (await system.call('GET', '/v1/auth/me')).user._id;
      return { method: 'POST', path: '/v1/schedules' };
    },
    makeOrdinaryBody: (n) => makeSchedule(n, '0 9 * * *'),
    makeCostlyBody: (n) => makeSchedule(n, '59 23 29 2 *'),
  },
  {
    bodyLabel: 'rows of decimals, dates and JSON',
    prepare: async (system) => {
      const id = await makeTable(system, 'medidas', [
        makeColumn('texto', 'text'),
        ...makeList(10, (n) => makeColumn(`n${n}`, 'decimal')),
        ...makeList(10, (n) => makeColumn(`d${n}`, 'datetime')),
      ]);
      return { method: 'POST', path: `/v1/managed-tables/${id}/data` };
    },
    makeOrdinaryBody: () => ({ rows: fillBodyWithRows({ texto: 't'.repeat(900) }) }),
    makeCostlyBody: () => ({
      rows: fillBodyWithRows(
        Object.fromEntries(
          makeList(10, (n) => [
            [`n${n}`, `${'9'.repeat(20)}.${'9'.repeat(9)}`],
            [`d${n}`, '2026-01-31T23:59:59.999+14:00'],
          ]).flat(),
        ),
      ),
    }),
  },
  {
    bodyLabel: 'a semantic item whose filters are nested',
    prepare: preparePost('/api/v1/domain-knowledge/semantic'),
    makeOrdinaryBody: (n) => ({
      ...KNOWLEDGE_ITEM,
      name: `item ${n}`,
      filters: makeList(20, () => `medidas.texto = '${'t'.repeat(4000)}'`),
    }),
    makeCostlyBody: (n) => ({
      ...KNOWLEDGE_ITEM,
      name: `item ${n}`,
      filters: makeList(20, () => `${'('.repeat(50)}1=1${')'.repeat(50)} AND ${'(medidas.n0=1)OR'.repeat(230)} true`),
    }),
  },
  {
    bodyLabel: 'an import of concepts of many aliases',
    prepare: preparePost('/api/v1/domain-knowledge/import'),
    makeOrdinaryBody: (n) => ({ concepts: makeList(400, (index) => makeConcept(n, index, [])) }),
    makeCostlyBody: (n) => ({
      concepts: makeList(400, (index) =>
        makeConcept(
          n,
          index,
          makeList(50, (alias) => `alias ${alias} ${n} ${index}`),
        ),
      ),
    }),
  },
];

const createdIds = { dashboard: '', user: '' };
const makeSchedule = (n: number, cron: string) => ({
  name: `schedule ${n}`,
  target_type: 'dashboard',
  target_id: createdIds.dashboard,
  cron,
  time_zone: 'America/Sao_Paulo',
  recipients: [{ user_id: createdIds.user }],
});
