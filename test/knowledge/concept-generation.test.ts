import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { AI_KEY, type Step } from '../support/ai-server.ts';
import { readStatusAndCode } from '../support/console.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { answerConcepts, createJobRunner, listPending, makeConceptCandidate } from './jobs.ts';
import { makeProposal, NO_MODEL } from './model.ts';
import { createConcept, KNOWLEDGE_PATH, readInvalidFields, UNKNOWN_ID } from './support.ts';

const PATH = `${KNOWLEDGE_PATH}/concepts/generation`;
const DOMAINS = [
  { key: 'sales', name: 'Vendas', description: 'What we sell.' },
  { key: 'people', name: 'Pessoas', description: 'Who works here.' },
];
let company: Company;
let asOwner: Company['as'];

beforeEach(async () => {
  company = await aCompany();
  asOwner = company.as;
  await asOwner.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: DOMAINS } });
});

type JobRunner = Awaited<ReturnType<typeof createJobRunner>>;

async function startJob(runner: JobRunner, json: unknown = {}): Promise<string> {
  const { status, body } = await asOwner.post(`${PATH}/jobs`, { json, env: runner.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

/** Runs a generation to its end; answers the job. */
async function runGeneration(json: unknown, ...steps: Step[]) {
  const runner = await createJobRunner(asOwner, ...steps);
  const id = await startJob(runner, json);
  await runner.run();
  return runner.job(id);
}

/** Runs an enrichment of one concept to its end, with a suggestion. */
async function runEnrichment(id: string): Promise<void> {
  const runner = await createJobRunner(asOwner, makeProposal({ tags: ['better'] }));
  const json = { target_type: 'concept', target_ids: [id] };
  await must(asOwner.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: runner.env }));
  await runner.run();
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

/** A text that fills so many batches. */
const makeLongText = (batches: number) => `${'word '.repeat(4600)}\n\n`.repeat(batches);

describe('a generation of concepts', () => {
  it('asks about each business domain in turn, and ends with suggestions', async () => {
    const runner = await createJobRunner(
      asOwner,
      answerConcepts(makeConceptCandidate('Churn')),
      answerConcepts(makeConceptCandidate('Salary'), makeConceptCandidate('Team')),
    );
    const { status, body } = await asOwner.post(`${PATH}/jobs`, { json: {}, env: runner.env });
    expect([status, body]).toStrictEqual([
      202,
      {
        _id: expect.any(String),
        company_id: company.id,
        type: 'concept_generation',
        target_type: 'concept',
        target_ids: [],
        status: 'queued',
        processed_count: 0,
        total_count: 2,
        suggestion_count: 0,
        rejected_count: 0,
        concepts_not_sent_count: 0,
        usage: { requests: 0, prompt_tokens: 0, completion_tokens: 0 },
        last_error: null,
        request_id: expect.any(String),
        business_domains: ['sales', 'people'],
        connection_id: null,
        file_name: null,
        created_by_user_id: company.owner.id,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        ended_at: null,
      },
    ]);
    await runner.deliver(runner.messages.shift() as never);
    expect(await runner.job(body._id)).toMatchObject({ status: 'running', processed_count: 1, suggestion_count: 1 });
    // Nobody sees a part of a batch.
    expect(await listPending(asOwner)).toEqual([]);
    await runner.run();
    const ended = (await asOwner.get(`${PATH}/jobs/${body._id}`)).body;
    expect(ended).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 3, rejected_count: 0 });
    expect(ended.usage).toEqual({ requests: 2, prompt_tokens: 200, completion_tokens: 20 });
    const pending = await listPending(asOwner, `&job_id=${body._id}`);
    expect(listNames(pending)).toEqual(['Churn', 'Salary', 'Team']);
    expect(pending[0]).toMatchObject({
      target_type: 'concept_create',
      target_id: null,
      job_id: body._id,
      request_id: body.request_id,
      prompt_version: 'concept-generation.v1',
      evidence: [{ source: 'text', quote: expect.any(String), table: null, column: null }],
    });
    const [first, second] = await runner.model.asked();
    expect(first?.messages[1]?.content).toContain('Vendas');
    expect(first?.messages[1]?.content).not.toContain('Pessoas');
    // What the first batch proposed is told to the second.
    expect(second?.messages[1]?.content).toContain('"Churn"');
    const accepted = await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${pending[0]._id}/accept`);
    expect(accepted.body.resource).toMatchObject({ status: 'draft', name: pending[0].target_name });
  });

  it('adds to existing concepts and removes nothing', async () => {
    const active = await createConcept(asOwner, { name: 'Churn', aliases: ['Evasão'], status: 'active' });
    const draft = await createConcept(asOwner, { name: 'Ticket', tags: ['kpi'] });
    const archived = await createConcept(asOwner, { name: 'Gone' });
    await asOwner.delete(`${KNOWLEDGE_PATH}/concepts/${archived}`);
    const foreign = await createConcept((await aCompany()).as);
    const enrich = (id: string, fields = {}) =>
      makeConceptCandidate('Any', {
        action: 'enrich',
        existing_concept_id: id,
        type: null,
        description: null,
        ...fields,
      });
    const runner = await createJobRunner(
      asOwner,
      answerConcepts(
        enrich(active, { aliases: ['Cancelamento'], description: 'Customers who leave.' }),
        enrich(draft, { tags: ['kpi'] }),
        enrich(archived, { tags: ['x'] }),
        enrich(foreign, { tags: ['x'] }),
        enrich(UNKNOWN_ID, { tags: ['x'] }),
      ),
    );
    const id = await startJob(runner, { business_domains: ['sales'] });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ total_count: 1, suggestion_count: 1, rejected_count: 4 });
    const [asked] = await runner.model.asked();
    const shown = asked?.messages[1]?.content ?? '';
    expect([shown.includes(active), shown.includes(draft), shown.includes(archived)]).toEqual([true, true, false]);
    expect((await listPending(asOwner))[0]).toMatchObject({
      target_type: 'concept',
      target_id: active,
      target_version: 1,
      concept_name: 'Churn',
      suggested_payload: { description: 'Customers who leave.', aliases: ['Evasão', 'Cancelamento'] },
    });
  });

  it('counts the candidates that are not valid, and stores none of them', async () => {
    await createConcept(asOwner, { name: 'Known' });
    const job = await runGeneration(
      { business_domains: ['sales'] },
      answerConcepts(
        makeConceptCandidate('Good'),
        makeConceptCandidate('GOOD '),
        makeConceptCandidate('known'),
        makeConceptCandidate('n'.repeat(201)),
        makeConceptCandidate('A', { description: 'x'.repeat(4097) }),
        makeConceptCandidate('B', { description: null }),
        makeConceptCandidate('C', { type: 'verb' }),
        makeConceptCandidate('D', { aliases: Array.from({ length: 21 }, String) }),
        makeConceptCandidate('E', { confidence: 2 }),
        makeConceptCandidate('F', { action: 'delete' }),
        makeConceptCandidate('G', { action: 'enrich' }),
        'no candidate',
        null,
      ),
    );
    expect(job).toMatchObject({ status: 'succeeded', suggestion_count: 1, rejected_count: 12 });
    expect(listNames(await listPending(asOwner))).toEqual(['Good']);
  });

  it('supersedes the pending suggestions of an earlier generation', async () => {
    const first = await runGeneration(
      { business_domains: ['sales'] },
      answerConcepts(makeConceptCandidate('Old'), makeConceptCandidate('Kept')),
    );
    const old = await listPending(asOwner);
    const kept = old.find(({ target_name }: { target_name: string }) => target_name === 'Kept');
    await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${kept._id}/reject`, { json: {} });
    // One that somebody asked for by hand is none of a batch.
    const { model } = await createJobRunner(asOwner, { answer: { payload: { description: 'new' } } });
    await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${await createConcept(asOwner)}/generate`, {
      env: model.env,
    });
    await runEnrichment(await createConcept(asOwner));
    await runGeneration({ business_domains: ['sales'] }, answerConcepts(makeConceptCandidate('New')));
    const pending = await listPending(asOwner);
    expect(pending).toHaveLength(3);
    expect(listNames(pending)).toContain('New');
    const superseded = await listPending(asOwner, '&status=superseded');
    expect(superseded).toEqual([expect.objectContaining({ target_name: 'Old', job_id: first._id })]);
    const answer = await asOwner.post(`${KNOWLEDGE_PATH}/suggestions/${superseded[0]._id}/accept`);
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_NOT_PENDING']);
  });

  it.each([
    ['fails', [{ status: 500 }], 'failed'],
    ['refuses the API key', [{ status: 401 }], 'failed'],
    ['answers text without concepts', [{ text: 'no' }], 'failed'],
    ['answers an empty list', [answerConcepts()], 'succeeded'],
    ['answers nothing valid', [answerConcepts(makeConceptCandidate('', {}))], 'succeeded'],
    ['fails in the second batch', [answerConcepts(makeConceptCandidate('Half')), { status: 500 }], 'failed'],
  ] as [string, Step[], string][])(
    'keeps the pending suggestions of an earlier generation when the model %s',
    async (_, steps, status) => {
      await runGeneration({}, answerConcepts(makeConceptCandidate('Old')));
      const before = await listPending(asOwner);
      const job = await runGeneration({}, ...steps);
      expect(job).toMatchObject({ status, last_error: status === 'failed' ? expect.any(String) : null });
      expect(JSON.stringify(job)).not.toContain(AI_KEY);
      expect(await listPending(asOwner)).toEqual(before);
      expect(before).toHaveLength(1);
    },
  );

  it('counts the usage of failed attempts too', async () => {
    const job = await runGeneration(
      { business_domains: ['sales'] },
      { text: 'no' },
      { status: 429 },
      answerConcepts(makeConceptCandidate('A')),
    );
    expect(job).toMatchObject({
      status: 'succeeded',
      usage: { requests: 3, prompt_tokens: 200, completion_tokens: 20 },
    });
  });

  it('asks about a long text part by part', async () => {
    const runner = await createJobRunner(
      asOwner,
      answerConcepts(makeConceptCandidate('A')),
      answerConcepts(makeConceptCandidate('B')),
      answerConcepts(makeConceptCandidate('A')),
    );
    const text = `${makeLongText(3)}THE-END`.slice(-100_000);
    const id = await startJob(runner, { text });
    expect(await runner.run()).toBe(3);
    expect(await runner.job(id)).toMatchObject({ processed_count: 3, suggestion_count: 2, rejected_count: 1 });
    const shown = (await runner.model.asked()).map(({ messages }) => messages[1]?.content ?? '');
    expect(shown.map((content) => content.includes('THE-END'))).toEqual([false, false, true]);
    expect(shown.every((content) => content.includes('Vendas') && content.includes('Pessoas'))).toBe(true);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
  });

  it('sends the model the concepts that its text mentions if not all fit, and counts those not sent', async () => {
    const named = await createConcept(asOwner, { name: 'Barn owl' });
    const related = await createConcept(asOwner, { name: 'Parish register', aliases: ['zebra stripes'] });
    const about = await createConcept(asOwner, {
      name: 'Nocturnal animal',
      description: 'Any that hunts by moonlight.',
    });
    const unrelated = await createConcept(asOwner, { name: 'Invoice' });
    const { results: columns } = await env.CONTROL_DB.prepare(
      `select name from pragma_table_info('knowledge_resources')`,
    ).all<{ name: string }>();
    const changed: Record<string, string> = {
      id: `printf('%024x', value)`,
      unique_key: `'filler ' || value`,
      content: `json_set(content, '$.name', 'filler ' || value || printf('%.100c', 'x'))`,
      updated_at: 'updated_at + 1000',
    };
    // All of them were changed later.
    await env.CONTROL_DB.prepare(
      `insert into knowledge_resources (${columns.map(({ name }) => name).join(', ')})
       select ${columns.map(({ name }) => changed[name] ?? name).join(', ')} from knowledge_resources,
       (with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < 3000) select value from numbers)
       where id = ?`,
    )
      .bind(unrelated)
      .run();
    const runner = await createJobRunner(asOwner, answerConcepts(makeConceptCandidate('A')));
    const text = 'We counted each barn owl that hunts by moonlight, and the stripes of a zebra.';
    const id = await startJob(runner, { text });
    await runner.run();
    const [asked] = await runner.model.asked();
    const shown = asked?.messages[1]?.content ?? '';
    expect([named, related, about, unrelated].map((each) => shown.includes(each))).toEqual([true, true, true, false]);
    const sent = shown.match(/"id":/g)?.length ?? 0;
    expect(sent).toBeGreaterThan(300);
    expect((await runner.job(id)).concepts_not_sent_count).toBe(3004 - sent);
  });

  it('accepts text of up to 100,000 characters, and only domains that exist', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts());
    const post = (json: unknown) => asOwner.post(`${PATH}/jobs`, { json, env: runner.env });
    expect(readInvalidFields(await post({ text: 'x'.repeat(100_001) }))).toEqual(['text']);
    expect(readInvalidFields(await post({ business_domains: ['sales', 'nothing'] }))).toEqual(['business_domains.1']);
    expect((await post({ text: 'x'.repeat(100_000), business_domains: ['people'] })).status).toBe(202);
  });

  it('is refused while another one runs in the company', async () => {
    const runner = await createJobRunner(asOwner, answerConcepts());
    const id = await startJob(runner);
    const again = await asOwner.post(`${PATH}/jobs`, { json: { text: 'x' }, env: runner.env });
    expect(readStatusAndCode(again)).toEqual([409, 'JOB_RUNNING']);
    expect(again.body.details.job_id).toBe(id);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    await runner.run();
    expect((await asOwner.post(`${PATH}/jobs`, { json: {}, env: runner.env })).status).toBe(202);
  });

  it('is refused with the name of the missing prerequisite', async () => {
    const prerequisites = async (changed: Record<string, string>) =>
      (await asOwner.get(`${PATH}/prerequisites`, { env: changed })).body;
    const { model } = await createJobRunner(asOwner, answerConcepts());
    expect(await prerequisites(model.env)).toStrictEqual({
      ready: true,
      ai_configured: true,
      business_domains: DOMAINS,
      accepted_file_types: ['.docx', '.xlsx', '.csv', '.tsv', '.txt', '.md'],
      missing: [],
    });
    await asOwner.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: [] } });
    expect(await prerequisites(NO_MODEL)).toMatchObject({
      ready: false,
      ai_configured: false,
      missing: ['ai_provider', 'business_domains'],
    });
    expect(readInvalidFields(await asOwner.post(`${PATH}/jobs`, { json: {}, env: model.env }))).toEqual([
      'business_domains',
    ]);
    const answer = await asOwner.post(`${PATH}/jobs`, { json: {}, env: NO_MODEL });
    expect(readStatusAndCode(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
  });

  it('is not found among the generations of an ontology', async () => {
    const id = await startJob(await createJobRunner(asOwner, answerConcepts()));
    const answer = await asOwner.get(`${KNOWLEDGE_PATH}/ontology/generation/jobs/${id}`);
    expect(readStatusAndCode(answer)).toEqual([404, 'JOB_NOT_FOUND']);
  });
});
