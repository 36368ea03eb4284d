import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import { AGENT_TOOLS } from '../../../src/app.ts';
import { createItemMaker } from '../../knowledge/metrics/support.ts';
import { createConcept } from '../../knowledge/support.ts';
import { column, createTable, makeTableRoutes } from '../../managed-tables/support.ts';
import { aSalesDashboard } from '../../shares/support.ts';
import { must } from '../../support/signed.ts';
import { aProvisionedCompany, aUser, type Company } from '../../support/worlds.ts';
import { someSales } from '../../visualizations/support.ts';
import { type Agent, createAgent } from './support.ts';

const { tools: TOOLS } = AGENT_TOOLS;

const calls = inject('randomCalls');

/** Stands in all that the other company has, and in nothing else. */
const SECRET = 'xylophone';

interface World {
  company: Company;
  ids: string[];
}

let own: World;
let stranger: World;
let agents: Agent[];

/** A company with a table, a dashboard, a metric and a concept. */
async function createWorld(word: string): Promise<World> {
  const company = await aProvisionedCompany();
  const sales = await someSales(company);
  const notes = await createTable(company.as, `notes_${word}`, [column('region'), column('text')]);
  await must(makeTableRoutes(company.as, notes).insert([{ region: word, text: `about ${word}` }]));
  const { dashboard, rows } = await aSalesDashboard(company, { name: word });
  const concept = await createConcept(company.as, { name: word, description: word, status: 'active' });
  const make = createItemMaker(
    () => company.as,
    () => concept,
  );
  const metric = await make.metric(`Count of ${word}`, {
    formula: `count(notes_${word}.id)`,
    mapped_tables: [`notes_${word}`],
  });
  const dimension = await make.dimension(word, { formula: `notes_${word}.region`, mapped_tables: [`notes_${word}`] });
  return { company, ids: [sales, notes, dashboard._id, rows._id, concept, metric, dimension, company.id] };
}

beforeAll(async () => {
  own = await createWorld('bassoon');
  stranger = await createWorld(SECRET);
  const weak = await aUser(own.company, { can: ['managed-tables:list'] });
  const { access_key, secret_key } = own.company.apiKey;
  agents = [own.company.token, weak.token, `${access_key}:${secret_key}`].map((token) =>
    createAgent(`Bearer ${token}`),
  );
});

const NAMES = ['region', 'amount', 'text', 'id', 'company_id', 'Count of bassoon', 'bassoon', `Count of ${SECRET}`];
const HOSTILE = [
  "'; DROP TABLE sales; --",
  '" OR 1=1 --',
  '*',
  '%',
  '../../admin/organizations',
  '{{company}}',
  `$1; select * from notes_${SECRET}`,
  '\u0000',
  '\ud800',
  '__proto__',
  'pg_sleep(60)',
  '1e999',
];
const METHODS = ['tools/call', 'tools/list', 'initialize', 'ping', 'resources/read', 'tools/delete', 'constructor'];
const OPERATORS = ['eq', 'ne', 'gt', 'in', 'nin', 'contains', 'starts_with', 'is_null', 'matches', '; --'];

/** Messages as models, and those who mean ill, may make them. */
function createMessages(known: string[]) {
  const text = fc.oneof(fc.constantFrom(...known, ...NAMES, ...HOSTILE), fc.string({ maxLength: 40 }));
  const scalar = fc.oneof(text, fc.integer(), fc.double(), fc.boolean(), fc.constant(null));
  const value = fc.oneof({ weight: 3, arbitrary: scalar }, fc.array(scalar, { maxLength: 4 }), fc.jsonValue());
  const filter = fc.oneof(
    fc.dictionary(text, fc.dictionary(fc.constantFrom(...OPERATORS), value, { maxKeys: 3 }), { maxKeys: 3 }),
    value,
  );
  const names = fc.array(text, { maxLength: 4 });
  const metricQuery = fc.record(
    {
      metrics: names,
      dimensions: names,
      filters: fc.array(fc.record({ dimension: text, op: fc.constantFrom(...OPERATORS), values: fc.array(scalar) })),
      time_grain: fc.constantFrom('day', 'year', 'eon'),
      order_by: fc.array(fc.record({ by: text, descending: fc.boolean() }), { maxLength: 3 }),
      limit: fc.integer({ min: -1, max: 20_000 }),
    },
    { requiredKeys: ['metrics'] },
  );
  const anything = {
    table_id: text,
    dashboard_id: text,
    filter,
    search: value,
    page: fc.oneof(fc.integer({ min: -1, max: 5 }), value),
    per_page: fc.oneof(fc.integer({ min: 0, max: 2000 }), value),
    sort_by: text,
    fields: text,
    cursor: text,
    kind: text,
    query: fc.oneof(metricQuery, value),
    parameters: fc.dictionary(fc.constantFrom('regions', 'region', 'days', 'nothing'), value),
    question: text,
    format: text,
    [HOSTILE[0] as string]: value,
  };
  const sent = fc.oneof(
    { weight: 4, arbitrary: fc.record(anything, { requiredKeys: [] }).chain(pickArguments) },
    { weight: 2, arbitrary: metricQuery },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const tool = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...TOOLS.map(({ name }) => name)) }, text);
  return fc.record({
    by: fc.nat({ max: agents.length - 1 }),
    method: fc.oneof({ weight: 12, arbitrary: fc.constant('tools/call') }, fc.constantFrom(...METHODS)),
    params: fc.oneof({ weight: 12, arbitrary: fc.record({ name: tool, arguments: sent }) }, fc.jsonValue()),
  });
}

/** A few of the arguments, so that not every call has one that its tool does not take. */
const pickArguments = (all: Record<string, unknown>) =>
  fc
    .subarray(Object.keys(all), { maxLength: 4 })
    .map((names) => Object.fromEntries(names.map((name) => [name, all[name]])));

/** Makes what is sent reach further than chance would: the arguments that the tool asks for. */
function aimArguments(params: unknown): unknown {
  const { name, arguments: sent } = Object(params) as { name?: string; arguments?: Record<string, unknown> };
  const tool = TOOLS.find((each) => each.name === name);
  if (!tool || typeof sent !== 'object' || sent === null || Array.isArray(sent)) return params;
  const fits = [...tool.argumentNames, tool.id, tool.bodyArgument, ...Object.keys(tool.aliases ?? {})];
  const [first = ''] = own.ids;
  const id = tool.id === 'dashboard_id' ? own.ids[2] : first;
  const kept = Object.entries(sent).filter(([key]) => fits.includes(key));
  return { name, arguments: { ...(tool.id && { [tool.id]: id }), ...Object.fromEntries(kept) } };
}

/** All that the control database holds, but what was asked and when things were last used: logs, as that of requests is. */
async function readControlDatabase(): Promise<string> {
  const { results } = await env.CONTROL_DB.prepare(
    "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\' and name not like 'sqlite%' and name <> 'knowledge_asked_questions'",
  ).all<{ name: string }>();
  const tables = await env.CONTROL_DB.batch(
    results.map(({ name }) => env.CONTROL_DB.prepare(`select * from "${name}" order by 1, 2`)),
  );
  return JSON.stringify(
    tables.map((table) => table.results),
    (key, value) => (/^last_.*_at$/.test(key) ? 0 : value),
  );
}

const readTableRows = async ({ company, ids }: World) =>
  Promise.all(ids.slice(0, 2).map(async (id) => (await makeTableRoutes(company.as, id).rows()).body));

it(`${calls} random calls of MCP write nothing, show nothing of another company, and cause no server error`, {
  timeout: Math.max(60_000, calls * 100),
}, async () => {
  const before = [await readControlDatabase(), await readTableRows(own), await readTableRows(stranger)];
  const stream = fc.sample(createMessages([...own.ids, ...stranger.ids]), { numRuns: calls });
  const problems: unknown[] = [];
  const tally = new Map<string, number>();
  for (const [index, { by, method, params: made }] of stream.entries()) {
    const params = index % 2 === 0 ? aimArguments(made) : made;
    const { status, body } = await (agents[by] as Agent).ask(method, params);
    const answer = JSON.stringify(body);
    const outcome = body.error?.code ?? (body.result?.isError ? JSON.parse(body.result.content[0].text).error : 'ok');
    tally.set(`${status} ${outcome}`, (tally.get(`${status} ${outcome}`) ?? 0) + 1);
    // What was sent may be named in a refusal; what somebody has may not.
    const tells = answer.includes(SECRET) && !JSON.stringify(params).includes(SECRET);
    const isOurs = status >= 500 || /INTERNAL_ERROR|SERVICE_UNAVAILABLE/.test(String(outcome)) || outcome === -32603;
    if (tells || isOurs) problems.push({ method, params, status, answer: answer.slice(0, 500) });
    if (outcome === 'ok' && answer.includes(SECRET)) problems.push({ method, params, answer: answer.slice(0, 500) });
  }
  console.info(`Outcomes of random calls (seed ${inject('seed')}):`, Object.fromEntries([...tally].sort()));
  expect(problems).toEqual([]);
  expect([await readControlDatabase(), await readTableRows(own), await readTableRows(stranger)]).toEqual(before);
  // Many calls reach what they ask for, so that this says something.
  expect(tally.get('200 ok')).toBeGreaterThan(calls / 10);
});
