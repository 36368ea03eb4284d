import { env } from 'cloudflare:test';
import { beforeEach, describe, expect, it } from 'vitest';
import { AI_KEY, type ScriptStep } from '../support/ai-server.ts';
import { type Company, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { runSql } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createJobRunner, listPendingSuggestions, makeConceptCandidate, makeConceptsAnswer } from './jobs.ts';
import { makeProposal, NO_MODEL_ENV } from './model.ts';
import { createConcept, KNOWLEDGE_PATH, readInvalidFields, UNKNOWN_ID } from './support.ts';

const GENERATION_PATH = `${KNOWLEDGE_PATH}/concepts/generation`;
const BUSINESS_DOMAINS = [
  { key: 'sales', name: 'Vendas', description: 'What we sell.' },
  { key: 'people', name: 'Pessoas', description: 'Who works here.' },
];
let company: Company;
let ownerCaller: Company['as'];

beforeEach(async () => {
  company = await createOwnedCompany();
  ownerCaller = company.as;
  await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: BUSINESS_DOMAINS } });
});

type JobRunner = Awaited<ReturnType<typeof createJobRunner>>;

async function startJob(runner: JobRunner, json: unknown = {}): Promise<string> {
  const { status, body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json, env: runner.env });
  if (status !== 202) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

/** Runs a generation to its end, and returns the job. */
async function runGeneration(json: unknown, ...steps: ScriptStep[]) {
  const runner = await createJobRunner(ownerCaller, ...steps);
  const id = await startJob(runner, json);
  await runner.run();
  return runner.job(id);
}

/** Runs an enrichment of one concept to its end; it makes one suggestion. */
async function runEnrichment(id: string): Promise<void> {
  const runner = await createJobRunner(ownerCaller, makeProposal({ tags: ['better'] }));
  const json = { target_type: 'concept', target_ids: [id] };
  await expectSuccess(ownerCaller.post(`${KNOWLEDGE_PATH}/jobs/enrich`, { json, env: runner.env }));
  await runner.run();
}

const listNames = (records: { target_name: string }[]) => records.map(({ target_name }) => target_name).sort();

/** Makes a text that fills the given number of batches. */
const makeLongText = (batchCount: number) => `${'word '.repeat(4600)}\n\n`.repeat(batchCount);

describe('a generation of concepts', () => {
  it('asks about each business domain in turn, and ends with suggestions', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      makeConceptsAnswer(makeConceptCandidate('Churn')),
      makeConceptsAnswer(makeConceptCandidate('Salary'), makeConceptCandidate('Team')),
    );
    const { status, body } = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: {}, env: runner.env });
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
    expect(await listPendingSuggestions(ownerCaller)).toEqual([]);
    await runner.run();
    const endedJob = (await ownerCaller.get(`${GENERATION_PATH}/jobs/${body._id}`)).body;
    expect(endedJob).toMatchObject({ status: 'succeeded', processed_count: 2, suggestion_count: 3, rejected_count: 0 });
    expect(endedJob.usage).toEqual({ requests: 2, prompt_tokens: 200, completion_tokens: 20 });
    const pendingSuggestions = await listPendingSuggestions(ownerCaller, `&job_id=${body._id}`);
    expect(listNames(pendingSuggestions)).toEqual(['Churn', 'Salary', 'Team']);
    expect(pendingSuggestions[0]).toMatchObject({
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
    const acceptanceAnswer = await ownerCaller.post(
      `${KNOWLEDGE_PATH}/suggestions/${pendingSuggestions[0]._id}/accept`,
    );
    expect(acceptanceAnswer.body.resource).toMatchObject({ status: 'draft', name: pendingSuggestions[0].target_name });
  });

  it('adds to existing concepts and removes nothing', async () => {
    const activeConcept = await createConcept(ownerCaller, { name: 'Churn', aliases: ['Evasão'], status: 'active' });
    const draftConcept = await createConcept(ownerCaller, { name: 'Ticket', tags: ['kpi'] });
    const archivedConcept = await createConcept(ownerCaller, { name: 'Gone' });
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${archivedConcept}`);
    const foreignConcept = await createConcept((await createOwnedCompany()).as);
    const makeEnrichment = (id: string, fields = {}) =>
      makeConceptCandidate('Any', {
        action: 'enrich',
        existing_concept_id: id,
        type: null,
        description: null,
        ...fields,
      });
    const runner = await createJobRunner(
      ownerCaller,
      makeConceptsAnswer(
        makeEnrichment(activeConcept, { aliases: ['Cancelamento'], description: 'Customers who leave.' }),
        makeEnrichment(draftConcept, { tags: ['kpi'] }),
        makeEnrichment(archivedConcept, { tags: ['x'] }),
        makeEnrichment(foreignConcept, { tags: ['x'] }),
        makeEnrichment(UNKNOWN_ID, { tags: ['x'] }),
      ),
    );
    const id = await startJob(runner, { business_domains: ['sales'] });
    await runner.run();
    expect(await runner.job(id)).toMatchObject({ total_count: 1, suggestion_count: 1, rejected_count: 4 });
    const [asked] = await runner.model.asked();
    const promptText = asked?.messages[1]?.content ?? '';
    expect([
      promptText.includes(activeConcept),
      promptText.includes(draftConcept),
      promptText.includes(archivedConcept),
    ]).toEqual([true, true, false]);
    expect((await listPendingSuggestions(ownerCaller))[0]).toMatchObject({
      target_type: 'concept',
      target_id: activeConcept,
      target_version: 1,
      concept_name: 'Churn',
      suggested_payload: { description: 'Customers who leave.', aliases: ['Evasão', 'Cancelamento'] },
    });
  });

  it('counts the candidates that are not valid, and stores none of them', async () => {
    await createConcept(ownerCaller, { name: 'Known' });
    const job = await runGeneration(
      { business_domains: ['sales'] },
      makeConceptsAnswer(
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
    expect(listNames(await listPendingSuggestions(ownerCaller))).toEqual(['Good']);
  });

  it('supersedes the pending suggestions of an earlier generation', async () => {
    const first = await runGeneration(
      { business_domains: ['sales'] },
      makeConceptsAnswer(makeConceptCandidate('Old'), makeConceptCandidate('Kept')),
    );
    const oldSuggestions = await listPendingSuggestions(ownerCaller);
    const keptSuggestion = oldSuggestions.find(({ target_name }: { target_name: string }) => target_name === 'Kept');
    await ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/${keptSuggestion._id}/reject`, { json: {} });
    // One that somebody asked for by hand is none of a batch.
    const { model } = await createJobRunner(ownerCaller, { answer: { payload: { description: 'new' } } });
    await ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/concepts/${await createConcept(ownerCaller)}/generate`, {
      env: model.env,
    });
    await runEnrichment(await createConcept(ownerCaller));
    await runGeneration({ business_domains: ['sales'] }, makeConceptsAnswer(makeConceptCandidate('New')));
    const pendingSuggestions = await listPendingSuggestions(ownerCaller);
    expect(pendingSuggestions).toHaveLength(3);
    expect(listNames(pendingSuggestions)).toContain('New');
    const supersededSuggestions = await listPendingSuggestions(ownerCaller, '&status=superseded');
    expect(supersededSuggestions).toEqual([expect.objectContaining({ target_name: 'Old', job_id: first._id })]);
    const answer = await ownerCaller.post(`${KNOWLEDGE_PATH}/suggestions/${supersededSuggestions[0]._id}/accept`);
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_NOT_PENDING']);
  });

  it.each([
    ['fails', [{ status: 500 }], 'failed'],
    ['refuses the API key', [{ status: 401 }], 'failed'],
    ['answers text without concepts', [{ text: 'no' }], 'failed'],
    ['answers an empty list', [makeConceptsAnswer()], 'succeeded'],
    ['answers nothing valid', [makeConceptsAnswer(makeConceptCandidate('', {}))], 'succeeded'],
    ['fails in the second batch', [makeConceptsAnswer(makeConceptCandidate('Half')), { status: 500 }], 'failed'],
  ] as [string, ScriptStep[], string][])(
    'keeps the pending suggestions of an earlier generation when the model %s',
    async (_, steps, status) => {
      await runGeneration({}, makeConceptsAnswer(makeConceptCandidate('Old')));
      const suggestionsBefore = await listPendingSuggestions(ownerCaller);
      const job = await runGeneration({}, ...steps);
      expect(job).toMatchObject({ status, last_error: status === 'failed' ? expect.any(String) : null });
      expect(JSON.stringify(job)).not.toContain(AI_KEY);
      expect(await listPendingSuggestions(ownerCaller)).toEqual(suggestionsBefore);
      expect(suggestionsBefore).toHaveLength(1);
    },
  );

  it('counts the usage of failed attempts, too', async () => {
    const job = await runGeneration(
      { business_domains: ['sales'] },
      { text: 'no' },
      { status: 429 },
      makeConceptsAnswer(makeConceptCandidate('A')),
    );
    expect(job).toMatchObject({
      status: 'succeeded',
      usage: { requests: 3, prompt_tokens: 200, completion_tokens: 20 },
    });
  });

  it('asks the model about a long text part by part', async () => {
    const runner = await createJobRunner(
      ownerCaller,
      makeConceptsAnswer(makeConceptCandidate('A')),
      makeConceptsAnswer(makeConceptCandidate('B')),
      makeConceptsAnswer(makeConceptCandidate('A')),
    );
    const text = `${makeLongText(3)}THE-END`.slice(-100_000);
    const id = await startJob(runner, { text });
    expect(await runner.run()).toBe(3);
    expect(await runner.job(id)).toMatchObject({ processed_count: 3, suggestion_count: 2, rejected_count: 1 });
    const promptTexts = (await runner.model.asked()).map(({ messages }) => messages[1]?.content ?? '');
    expect(promptTexts.map((content) => content.includes('THE-END'))).toEqual([false, false, true]);
    expect(promptTexts.every((content) => content.includes('Vendas') && content.includes('Pessoas'))).toBe(true);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
  });

  it('sends the model the concepts that its text mentions if not all concepts fit, and counts the concepts not sent', async () => {
    const namedConcept = await createConcept(ownerCaller, { name: 'Barn owl' });
    const relatedConcept = await createConcept(ownerCaller, { name: 'Parish register', aliases: ['zebra stripes'] });
    const describedConcept = await createConcept(ownerCaller, {
      name: 'Nocturnal animal',
      description: 'Any that hunts by moonlight.',
    });
    const unrelatedConcept = await createConcept(ownerCaller, { name: 'Invoice' });
    const { results: columns } = await env.CONTROL_DB.prepare(
      `select name from pragma_table_info('knowledge_resources')`,
    ).all<{ name: string }>();
    const limitedEnv: Record<string, string> = {
      id: `printf('%024x', value)`,
      unique_key: `'filler ' || value`,
      content: `json_set(content, '$.name', 'filler ' || value || printf('%.100c', 'x'))`,
      updated_at: 'updated_at + 1000',
    };
    // All of them were changed later.
    await runSql(
      `insert into knowledge_resources (${columns.map(({ name }) => name).join(', ')})
       select ${columns.map(({ name }) => limitedEnv[name] ?? name).join(', ')} from knowledge_resources,
       (with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < 3000) select value from numbers)
       where id = ?`,
      unrelatedConcept,
    );
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer(makeConceptCandidate('A')));
    const text = 'We counted each barn owl that hunts by moonlight, and the stripes of a zebra.';
    const id = await startJob(runner, { text });
    await runner.run();
    const [asked] = await runner.model.asked();
    const promptText = asked?.messages[1]?.content ?? '';
    expect(
      [namedConcept, relatedConcept, describedConcept, unrelatedConcept].map((conceptText) =>
        promptText.includes(conceptText),
      ),
    ).toEqual([true, true, true, false]);
    const sentCount = promptText.match(/"id":/g)?.length ?? 0;
    expect(sentCount).toBeGreaterThan(300);
    expect((await runner.job(id)).concepts_not_sent_count).toBe(3004 - sentCount);
  });

  it('accepts text of up to 100,000 characters, and only domains that exist', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer());
    const postJob = (json: unknown) => ownerCaller.post(`${GENERATION_PATH}/jobs`, { json, env: runner.env });
    expect(readInvalidFields(await postJob({ text: 'x'.repeat(100_001) }))).toEqual(['text']);
    expect(readInvalidFields(await postJob({ business_domains: ['sales', 'nothing'] }))).toEqual([
      'business_domains.1',
    ]);
    expect((await postJob({ text: 'x'.repeat(100_000), business_domains: ['people'] })).status).toBe(202);
  });

  it('is refused while another one runs in the company', async () => {
    const runner = await createJobRunner(ownerCaller, makeConceptsAnswer());
    const id = await startJob(runner);
    const secondAnswer = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: { text: 'x' }, env: runner.env });
    expect(readStatusAndCode(secondAnswer)).toEqual([409, 'JOB_RUNNING']);
    expect(secondAnswer.body.details.job_id).toBe(id);
    expect((await env.FILES.list({ prefix: `knowledge/${company.id}/` })).objects).toEqual([]);
    await runner.run();
    expect((await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: {}, env: runner.env })).status).toBe(202);
  });

  it('is refused with the name of the missing prerequisite', async () => {
    const readPrerequisites = async (envChanges: Record<string, string>) =>
      (await ownerCaller.get(`${GENERATION_PATH}/prerequisites`, { env: envChanges })).body;
    const { model } = await createJobRunner(ownerCaller, makeConceptsAnswer());
    expect(await readPrerequisites(model.env)).toStrictEqual({
      ready: true,
      ai_configured: true,
      business_domains: BUSINESS_DOMAINS,
      accepted_file_types: ['.docx', '.xlsx', '.csv', '.tsv', '.txt', '.md'],
      missing: [],
    });
    await ownerCaller.put(`${KNOWLEDGE_PATH}/business-domains`, { json: { business_domains: [] } });
    expect(await readPrerequisites(NO_MODEL_ENV)).toMatchObject({
      ready: false,
      ai_configured: false,
      missing: ['ai_provider', 'business_domains'],
    });
    expect(readInvalidFields(await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: {}, env: model.env }))).toEqual([
      'business_domains',
    ]);
    const answer = await ownerCaller.post(`${GENERATION_PATH}/jobs`, { json: {}, env: NO_MODEL_ENV });
    expect(readStatusAndCode(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
  });

  it('is not found among the generations of an ontology', async () => {
    const id = await startJob(await createJobRunner(ownerCaller, makeConceptsAnswer()));
    const answer = await ownerCaller.get(`${KNOWLEDGE_PATH}/ontology/generation/jobs/${id}`);
    expect(readStatusAndCode(answer)).toEqual([404, 'JOB_NOT_FOUND']);
  });
});
