import type { System } from '../system.ts';

/** Bodies that a route takes and works with: what costs most of what passes, beside an honest one of its size. */
export interface AcceptedBodies {
  what: string;
  prepare(system: System): Promise<{ method: string; path: string }>;
  /** `n` differs from call to call, where a name must not be taken. */
  honest(n: number): object;
  costly(n: number): object;
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
const describePost = (path: string) => async () => ({ method: 'POST', path });

const makePolicy = (n: number, statements: object[]) => ({
  name: `policy ${n}`,
  document: { version: '2024-01-01', statements },
});
const makeAllow = (resources: string[]) => ({ effect: 'Allow', actions: ['visualizations:get'], resources });
/** 20 KiB of patterns that a resource matches almost. */
const STAR_PATTERNS = times(35, (n) => `arn:svc:${'*a'.repeat(250)}${n}`);
const PLAIN_PATTERNS = times(35, (n) => `arn:svc:${'ba'.repeat(250)}${n}`);

/** A company's user in a group of its own that has a policy of these resources. @returns the user's id */
async function createUserUnder(system: System, name: string, resources: string[]): Promise<string> {
  const { _id: policyId } = await system.call('POST', '/v1/policies', {
    ...makePolicy(0, [makeAllow(resources)]),
    name: `simulated ${name}`,
  });
  const group = { name, slug: name, description: 'Of the bench, simulated.' };
  const { _id: groupId } = await system.call('POST', '/v1/groups', group);
  await system.call('POST', `/v1/groups/${groupId}/policies/${policyId}`);
  const user = await system.call('POST', '/v1/users/invite', { email: `${name}@bench.test`, group_ids: [groupId] });
  return user._id;
}

const simulated = { plain: '', stars: '' };
const makeSimulation = (id: string) => ({
  principal: { type: 'user', id },
  checks: times(100, (n) => ({ action: 'visualizations:get', resource: `arn:svc:${'a'.repeat(500)}${n % 10}` })),
});

const makeColumn = (name: string, type: string) => ({ name, display_name: name, type, nullable: true });
const makeTable = async (system: System, name: string, columns: object[]): Promise<string> =>
  (await system.call('POST', '/v1/managed-tables', { display_name: name, columns }))._id;

const MEBIBYTE = 1_000_000;
/** As many rows of it as a mebibyte and a request hold. */
const fillMebibyte = (row: object) =>
  times(Math.min(1000, Math.floor(MEBIBYTE / JSON.stringify(row).length)), () => row);

const makeVisualization = (n: number, sql: string, parameters: object[] = []) => ({
  name: `sql ${n}`,
  sql: sql.slice(0, 19_900),
  parameters,
});
const makeParameter = (n: number) => ({ slug: `p${n}`, label: 'P', kind: 'text' });

const ITEM = { kind: 'mapping', description: 'Of the bench.', mapped_tables: ['medidas'] };

const makeConcept = (n: number, index: number, aliases: string[]) => ({
  name: `concept ${n} ${index}`,
  description: 'd'.repeat(aliases.length > 0 ? 10 : 900),
  type: 'term',
  aliases,
});

export const ACCEPTED_BODIES: AcceptedBodies[] = [
  {
    what: 'a policy of 100 statements',
    prepare: describePost('/v1/policies'),
    honest: (n) => makePolicy(n, [makeAllow(PLAIN_PATTERNS.slice(0, 20))]),
    costly: (n) =>
      makePolicy(
        n,
        times(100, (index) => makeAllow([`arn:svc:${'*a'.repeat(20)}${index}`])),
      ),
  },
  {
    what: 'a simulation over 20 KiB of patterns with stars',
    prepare: async (system) => {
      simulated.plain = await createUserUnder(system, 'plain', PLAIN_PATTERNS);
      simulated.stars = await createUserUnder(system, 'stars', STAR_PATTERNS);
      return { method: 'POST', path: '/v1/policies/simulate' };
    },
    honest: () => makeSimulation(simulated.plain),
    costly: () => makeSimulation(simulated.stars),
  },
  {
    what: 'SQL of many optional parts',
    prepare: describePost('/v1/visualizations'),
    honest: (n) => makeVisualization(n, `SELECT 1 ${'-- a comment that is honest\n'.repeat(1000)}`),
    costly: (n) => makeVisualization(n, `SELECT 1 WHERE true ${'[[AND 1={{p0}}]]'.repeat(250)}`, [makeParameter(0)]),
  },
  {
    what: 'SQL of many quotes',
    prepare: describePost('/v1/visualizations'),
    honest: (n) => makeVisualization(n, `SELECT 1 ${'-- a comment that is honest\n'.repeat(1000)}`),
    costly: (n) => makeVisualization(n, `SELECT ${"'',$$$$,".repeat(2400)}1`),
  },
  {
    what: 'a schedule of a day that is rare',
    prepare: async (system) => {
      const made = await system.call('POST', '/v1/visualizations', { name: 'sent', sql: 'SELECT 1 AS n' });
      const { _id } = await system.call('POST', '/v1/dashboards', {
        name: 'sent',
        layout: [{ visualization_id: made._id, x: 0, y: 0, w: 1, h: 1 }],
      });
      createdIds.dashboard = _id;
      createdIds.user = (await system.call('GET', '/v1/auth/me')).user._id;
      return { method: 'POST', path: '/v1/schedules' };
    },
    honest: (n) => makeSchedule(n, '0 9 * * *'),
    costly: (n) => makeSchedule(n, '59 23 29 2 *'),
  },
  {
    what: 'rows of decimals, dates and JSON',
    prepare: async (system) => {
      const id = await makeTable(system, 'medidas', [
        makeColumn('texto', 'text'),
        ...times(10, (n) => makeColumn(`n${n}`, 'decimal')),
        ...times(10, (n) => makeColumn(`d${n}`, 'datetime')),
      ]);
      return { method: 'POST', path: `/v1/managed-tables/${id}/data` };
    },
    honest: () => ({ rows: fillMebibyte({ texto: 't'.repeat(900) }) }),
    costly: () => ({
      rows: fillMebibyte(
        Object.fromEntries(
          times(10, (n) => [
            [`n${n}`, `${'9'.repeat(20)}.${'9'.repeat(9)}`],
            [`d${n}`, '2026-01-31T23:59:59.999+14:00'],
          ]).flat(),
        ),
      ),
    }),
  },
  {
    what: 'a semantic item whose filters are nested',
    prepare: describePost('/api/v1/domain-knowledge/semantic'),
    honest: (n) => ({ ...ITEM, name: `item ${n}`, filters: times(20, () => `medidas.texto = '${'t'.repeat(4000)}'`) }),
    costly: (n) => ({
      ...ITEM,
      name: `item ${n}`,
      filters: times(20, () => `${'('.repeat(50)}1=1${')'.repeat(50)} AND ${'(medidas.n0=1)OR'.repeat(230)} true`),
    }),
  },
  {
    what: 'an import of concepts of many aliases',
    prepare: describePost('/api/v1/domain-knowledge/import'),
    honest: (n) => ({ concepts: times(400, (index) => makeConcept(n, index, [])) }),
    costly: (n) => ({
      concepts: times(400, (index) =>
        makeConcept(
          n,
          index,
          times(50, (alias) => `alias ${alias} ${n} ${index}`),
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
