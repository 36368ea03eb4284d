import { env } from 'cloudflare:test';
import fc from 'fast-check';
import { beforeAll, expect, inject, it } from 'vitest';
import { AGENT_TOOLS } from '../../../src/app.ts';
import { createItemMaker } from '../../knowledge/metrics/support.ts';
import { createConcept } from '../../knowledge/support.ts';
import { createTable, createTableClient, makeColumn } from '../../managed-tables/support.ts';
import { createSalesDashboard } from '../../shares/support.ts';
import { type Company, createAllowedUser, createProvisionedCompany } from '../../support/companies.ts';
import { expectSuccess } from '../../support/signed.ts';
import { createSalesTable } from '../../visualizations/support.ts';
import { type Agent, createAgent } from './support.ts';

const { tools: TOOLS } = AGENT_TOOLS;

const callCount = inject('randomCalls');

/** A word that occurs in all data of the other company, and in no other data. */
const SECRET_WORD = 'xylophone';

interface CompanyData {
  company: Company;
  ids: string[];
}

let ownData: CompanyData;
let otherData: CompanyData;
let agents: Agent[];

/** Creates a company with a table, a dashboard, a metric and a concept, all named after a word. */
async function createCompanyData(word: string): Promise<CompanyData> {
  const company = await createProvisionedCompany();
  const sales = await createSalesTable(company);
  const notes = await createTable(company.as, `notes_${word}`, [makeColumn('region'), makeColumn('text')]);
  await expectSuccess(createTableClient(company.as, notes).insert([{ region: word, text: `about ${word}` }]));
  const { dashboard, rows } = await createSalesDashboard(company, { name: word });
  const concept = await createConcept(company.as, { name: word, description: word, status: 'active' });
  const itemMaker = createItemMaker(
    () => company.as,
    () => concept,
  );
  const metric = await itemMaker.metric(`Count of ${word}`, {
    formula: `count(notes_${word}.id)`,
    mapped_tables: [`notes_${word}`],
  });
  const dimension = await itemMaker.dimension(word, {
    formula: `notes_${word}.region`,
    mapped_tables: [`notes_${word}`],
  });
  return { company, ids: [sales, notes, dashboard._id, rows._id, concept, metric, dimension, company.id] };
}

beforeAll(async () => {
  ownData = await createCompanyData('bassoon');
  otherData = await createCompanyData(SECRET_WORD);
  const limitedUser = await createAllowedUser(ownData.company, { can: ['managed-tables:list'] });
  const { access_key, secret_key } = ownData.company.apiKey;
  agents = [ownData.company.token, limitedUser.token, `${access_key}:${secret_key}`].map((token) =>
    createAgent(`Bearer ${token}`),
  );
});

const SOME_NAMES = [
  'region',
  'amount',
  'text',
  'id',
  'company_id',
  'Count of bassoon',
  'bassoon',
  `Count of ${SECRET_WORD}`,
];
const HOSTILE_TEXTS = [
  "'; DROP TABLE sales; --",
  '" OR 1=1 --',
  '*',
  '%',
  '../../admin/organizations',
  '{{company}}',
  `$1; select * from notes_${SECRET_WORD}`,
  '\u0000',
  '\ud800',
  '__proto__',
  'pg_sleep(60)',
  '1e999',
];
const METHODS = ['tools/call', 'tools/list', 'initialize', 'ping', 'resources/read', 'tools/delete', 'constructor'];
const OPERATORS = ['eq', 'ne', 'gt', 'in', 'nin', 'contains', 'starts_with', 'is_null', 'matches', '; --'];

/** Generates messages as models or attackers might send them. */
function createMessages(knownIds: string[]) {
  const text = fc.oneof(fc.constantFrom(...knownIds, ...SOME_NAMES, ...HOSTILE_TEXTS), fc.string({ maxLength: 40 }));
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
  const anyArguments = {
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
    [HOSTILE_TEXTS[0] as string]: value,
  };
  const toolArguments = fc.oneof(
    { weight: 4, arbitrary: fc.record(anyArguments, { requiredKeys: [] }).chain(pickArguments) },
    { weight: 2, arbitrary: metricQuery },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
  const toolName = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...TOOLS.map(({ name }) => name)) }, text);
  return fc.record({
    by: fc.nat({ max: agents.length - 1 }),
    method: fc.oneof({ weight: 12, arbitrary: fc.constant('tools/call') }, fc.constantFrom(...METHODS)),
    params: fc.oneof(
      { weight: 12, arbitrary: fc.record({ name: toolName, arguments: toolArguments }) },
      fc.jsonValue(),
    ),
  });
}

/** Picks a few arguments, so that not every call has an argument that its tool does not accept. */
const pickArguments = (allArguments: Record<string, unknown>) =>
  fc
    .subarray(Object.keys(allArguments), { maxLength: 4 })
    .map((names) => Object.fromEntries(names.map((name) => [name, allArguments[name]])));

/** Gives a random call the arguments that its tool requires, so that it gets further than by chance. */
function addRequiredArguments(params: unknown): unknown {
  const { name, arguments: sentArguments } = Object(params) as { name?: string; arguments?: Record<string, unknown> };
  const tool = TOOLS.find((listedTool) => listedTool.name === name);
  if (!tool || typeof sentArguments !== 'object' || sentArguments === null || Array.isArray(sentArguments))
    return params;
  const acceptedNames = [...tool.argumentNames, tool.id, tool.bodyArgument, ...Object.keys(tool.aliases ?? {})];
  const [first = ''] = ownData.ids;
  const id = tool.id === 'dashboard_id' ? ownData.ids[2] : first;
  const acceptedArguments = Object.entries(sentArguments).filter(([key]) => acceptedNames.includes(key));
  return { name, arguments: { ...(tool.id && { [tool.id]: id }), ...Object.fromEntries(acceptedArguments) } };
}

/** Reads the control database, except asked questions and the times of last use: both are logs of requests. */
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

const readTableRows = async ({ company, ids }: CompanyData) =>
  Promise.all(ids.slice(0, 2).map(async (id) => (await createTableClient(company.as, id).rows()).body));

it(`${callCount} random calls of MCP write nothing, show nothing of another company, and cause no server error`, {
  timeout: Math.max(60_000, callCount * 100),
}, async () => {
  const stateBefore = [await readControlDatabase(), await readTableRows(ownData), await readTableRows(otherData)];
  const stream = fc.sample(createMessages([...ownData.ids, ...otherData.ids]), { numRuns: callCount });
  const problems: unknown[] = [];
  const countByOutcome = new Map<string, number>();
  for (const [index, { by, method, params: made }] of stream.entries()) {
    const params = index % 2 === 0 ? addRequiredArguments(made) : made;
    const { status, body } = await (agents[by] as Agent).ask(method, params);
    const answer = JSON.stringify(body);
    const outcome = body.error?.code ?? (body.result?.isError ? JSON.parse(body.result.content[0].text).error : 'ok');
    countByOutcome.set(`${status} ${outcome}`, (countByOutcome.get(`${status} ${outcome}`) ?? 0) + 1);
    // What was sent may be named in a refusal; what somebody has may not.
    const revealsSecret = answer.includes(SECRET_WORD) && !JSON.stringify(params).includes(SECRET_WORD);
    const isServerError =
      status >= 500 || /INTERNAL_ERROR|SERVICE_UNAVAILABLE/.test(String(outcome)) || outcome === -32603;
    if (revealsSecret || isServerError) problems.push({ method, params, status, answer: answer.slice(0, 500) });
    if (outcome === 'ok' && answer.includes(SECRET_WORD))
      problems.push({ method, params, answer: answer.slice(0, 500) });
  }
  console.info(`Outcomes of random calls (seed ${inject('seed')}):`, Object.fromEntries([...countByOutcome].sort()));
  expect(problems).toEqual([]);
  expect([await readControlDatabase(), await readTableRows(ownData), await readTableRows(otherData)]).toEqual(
    stateBefore,
  );
  // Many calls reach what they ask for, so that this says something.
  expect(countByOutcome.get('200 ok')).toBeGreaterThan(callCount / 10);
});
