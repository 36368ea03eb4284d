import { describe, expect, it } from 'vitest';
import { createTable, makeColumn } from '../managed-tables/support.ts';
import { AI_KEY } from '../support/ai-server.ts';
import { createOwnedCompany, createProvisionedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { createModel, makeProposal, NO_MODEL_ENV } from './model.ts';
import { acceptSuggestion, createPromotion, SUGGESTIONS_PATH } from './suggesting.ts';
import {
  createConcept,
  createItem,
  createNode,
  createRelation,
  KNOWLEDGE_PATH,
  makeName,
  UNKNOWN_ID,
} from './support.ts';

const company = await createOwnedCompany();
const ownerCaller = company.as;

const readConcept = async (id: string) => (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body;

describe('a request for a suggestion', () => {
  it('returns a pending suggestion and its explanation, and changes nothing', async () => {
    const name = makeName('Churn');
    const conceptId = await createConcept(ownerCaller, { name, description: 'x', tags: ['kept'] });
    const conceptBefore = await readConcept(conceptId);
    const { env } = await createModel(
      makeProposal({ description: 'Customers who leave.', tags: null, aliases: ['Evasão'] }),
    );
    const { status, body } = await ownerCaller.post(`${SUGGESTIONS_PATH}/concepts/${conceptId}/generate`, { env });
    expect(status).toBe(201);
    expect(body).toStrictEqual({
      _id: expect.stringMatching(/^[a-f0-9]{24}$/),
      company_id: company.id,
      target_type: 'concept',
      target_id: conceptId,
      target_version: 1,
      target_name: name,
      concept_id: conceptId,
      concept_name: name,
      suggested_payload: { description: 'Customers who leave.', aliases: ['Evasão'] },
      explanation: 'Because the material says so.',
      evidence: [{ source: 'concept', quote: 'the words', table: null, column: null }],
      confidence: 0.8,
      model: 'model-of-the-tests',
      prompt_version: 'improve-concept.v1',
      status: 'pending',
      request_id: expect.any(String),
      job_id: null,
      review_note: null,
      reviewed_by_user_id: null,
      reviewed_at: null,
      resource_id: null,
      created_by_user_id: company.owner.id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await readConcept(conceptId)).toStrictEqual(conceptBefore);
    const suggestionList = await ownerCaller.get(`${SUGGESTIONS_PATH}?target_type=concept`);
    expect(suggestionList.body.records).toContainEqual(body);
  });

  it('works for every type of resource', async () => {
    const [a, b] = [await createNode(ownerCaller), await createNode(ownerCaller)];
    const cases = [
      ['semantic', `/semantic/${await createItem(ownerCaller)}/generate`, { description: 'new', grain: 'day' }],
      ['ontology_node', `/ontology/nodes/${a}/generate`, { attributes: ['x'] }],
      [
        'ontology_relation',
        `/ontology/relations/${await createRelation(ownerCaller, a, 'has', b)}/generate`,
        { cardinality: '1:N' },
      ],
    ] as const;
    for (const [type, path, payload] of cases) {
      const { env } = await createModel(makeProposal(payload));
      const { status, body } = await ownerCaller.post(`${SUGGESTIONS_PATH}${path}`, { env });
      expect([status, body.target_type, body.suggested_payload]).toEqual([201, type, payload]);
      expect((await acceptSuggestion(ownerCaller, body._id)).body.resource).toMatchObject(payload);
    }
  });

  it('can turn a concept into a semantic item or an ontology node', async () => {
    const item = await createPromotion(ownerCaller, {
      kind: 'dimension',
      name: makeName('Region'),
      description: 'Where.',
    });
    expect(item.body).toMatchObject({ target_type: 'semantic_create', target_id: null, concept_id: item.conceptId });
    const createdItem = (await acceptSuggestion(ownerCaller, item.id)).body;
    expect(createdItem.resource).toMatchObject({
      kind: 'dimension',
      status: 'draft',
      source_concept_ids: [item.conceptId],
      suggestion_id: item.id,
      validation_errors: [],
    });
    expect(createdItem.suggestion).toMatchObject({ status: 'accepted', resource_id: createdItem.resource._id });
    const nodeSuggestion = await createPromotion(
      ownerCaller,
      { node_type: 'event', description: 'It happens.' },
      'promote-ontology',
    );
    expect(nodeSuggestion.body.target_type).toBe('ontology_node_create');
    const { resource } = (await acceptSuggestion(ownerCaller, nodeSuggestion.id)).body;
    expect(resource).toMatchObject({
      node_type: 'event',
      source_concepts: [nodeSuggestion.conceptId],
      status: 'draft',
    });
  });

  it("sends the catalogue to the model, and checks the formula in the model's answer", async () => {
    const { as } = await createProvisionedCompany();
    await createTable(as, 'orders', [makeColumn('total', 'decimal')]);
    const conceptId = await createConcept(as, { type: 'metric_hint' });
    const model = await createModel(
      makeProposal({ name: 'Revenue', description: 'x', mapped_tables: ['orders'], formula: 'sum(nothing)' }),
    );
    const { body } = await as.post(`${SUGGESTIONS_PATH}/concepts/${conceptId}/promote-semantic`, { env: model.env });
    expect((await model.asked())[0]?.messages[1]?.content).toContain('orders (0 rows): total decimal "total"');
    const acceptanceAnswer = await acceptSuggestion(as, body._id);
    expect(acceptanceAnswer.body.resource).toMatchObject({ kind: 'metric', mapped_tables: ['orders'] });
    expect(acceptanceAnswer.body.resource.validation_errors[0]).toMatchObject({
      field: 'formula',
      code: 'does_not_compile',
    });
  });

  it.each([
    [
      { explanation: null, evidence: null, confidence: null },
      { explanation: '', evidence: [], confidence: null },
    ],
    [{ evidence: 'the words' }, { evidence: [{ source: 'text', quote: 'the words', table: null, column: null }] }],
    [
      { evidence: [{ source: 'catalog', table: 'orders', column: 'total' }, 'words', { source: 'rumour', quote: 7 }] },
      {
        evidence: [
          { source: 'catalog', quote: null, table: 'orders', column: 'total' },
          { source: 'text', quote: 'words', table: null, column: null },
          { source: 'text', quote: null, table: null, column: null },
        ],
      },
    ],
    [{ explanation: 'x'.repeat(5000) }, { explanation: 'x'.repeat(4096) }],
    [
      { explanation: `x${'😀'.repeat(3000)}`, evidence: `x${'😀'.repeat(3000)}` },
      {
        explanation: `x${'😀'.repeat(2047)}`,
        evidence: [{ source: 'text', quote: `x${'😀'.repeat(499)}`, table: null, column: null }],
      },
    ],
    [{ explanation: 'half \ud83d' }, { explanation: 'half \ufffd' }],
  ])(
    'reads explanation, evidence and confidence in the forms that models use: %j',
    async (modelFields, shownFields) => {
      const { env } = await createModel(makeProposal({ description: 'Clear.' }, modelFields));
      const { status, body } = await ownerCaller.post(
        `${SUGGESTIONS_PATH}/concepts/${await createConcept(ownerCaller)}/generate`,
        {
          env,
        },
      );
      expect([status, body]).toEqual([201, expect.objectContaining(shownFields)]);
    },
  );

  it('answers 503 without an AI key, on every route', async () => {
    for (const path of [
      '/concepts/{id}/generate',
      '/concepts/{id}/promote-semantic',
      '/concepts/{id}/promote-ontology',
      '/semantic/{id}/generate',
      '/ontology/nodes/{id}/generate',
      '/ontology/relations/{id}/generate',
    ]) {
      const answer = await ownerCaller.post(`${SUGGESTIONS_PATH}${path.replace('{id}', UNKNOWN_ID)}`, {
        env: NO_MODEL_ENV,
      });
      expect(readStatusAndCode(answer)).toEqual([503, 'AI_PROVIDER_NOT_CONFIGURED']);
    }
  });

  it('is refused for unknown and archived resources, and resources of other companies', async () => {
    const { env } = await createModel(makeProposal({ description: 'y' }));
    const foreignConcept = await createConcept((await createOwnedCompany()).as);
    for (const id of [UNKNOWN_ID, foreignConcept]) {
      expect(readStatusAndCode(await ownerCaller.post(`${SUGGESTIONS_PATH}/concepts/${id}/generate`, { env }))).toEqual(
        [404, 'CONCEPT_NOT_FOUND'],
      );
    }
    const archivedConcept = await createConcept(ownerCaller);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${archivedConcept}`);
    const answer = await ownerCaller.post(`${SUGGESTIONS_PATH}/concepts/${archivedConcept}/generate`, { env });
    expect(readStatusAndCode(answer)).toEqual([409, 'CONCEPT_ARCHIVED']);
  });
});

describe('an AI provider that fails', () => {
  const validAnswer = makeProposal({ description: 'At last.' });
  const requestSuggestion = async (steps: Parameters<typeof createModel>, variables: Record<string, string> = {}) => {
    const model = await createModel(...steps);
    const env = { ...model.env, ...variables };
    const answer = await ownerCaller.post(`${SUGGESTIONS_PATH}/concepts/${await createConcept(ownerCaller)}/generate`, {
      env,
    });
    return { answer, asked: (await model.asked()).length };
  };

  it.each([
    ['the status 500', { status: 500 }],
    ['the status 429', { status: 429 }],
    ['nothing and hangs up', { hangUp: true }],
    ['half of the bytes', { half: true }],
    ['HTML', { body: '<html>' }],
    ['JSON of another shape', { body: '{"choices":[]}' }],
    ['text that is no JSON', { text: 'Sure! Here is your JSON:' }],
    ['an answer cut short', { text: '{}', finishReason: 'length' }],
    ['a payload that is no object', { answer: { payload: 7 } }],
    ['a payload over the limits', makeProposal({ description: 'x'.repeat(4097) })],
    ['a body of 3 MiB', { body: `"${'x'.repeat(3 * 1024 * 1024)}"` }],
  ] as const)('is called again when it answers %s', async (_, step) => {
    const { answer, asked } = await requestSuggestion([step, validAnswer]);
    expect([answer.status, asked]).toEqual([201, 2]);
    expect(answer.body.suggested_payload).toEqual({ description: 'At last.' });
  });

  it.each([
    ['half of the bytes, and then stalls', { stall: true }],
    ['too late', { ...validAnswer, afterMs: 10_000 }],
  ] as const)('is called again after a timeout when it answers %s', async (_, step) => {
    const { answer, asked } = await requestSuggestion([step, validAnswer], { AI_TIMEOUT_MS: '2000' });
    expect([answer.status, asked]).toEqual([201, 2]);
    expect(answer.body.suggested_payload).toEqual({ description: 'At last.' });
  });

  it.each([
    ['1', 950, 20_000],
    // Cut to whole seconds: a busy machine may take two and a half of them until it is asked.
    [() => new Date(Date.now() + 4_500).toUTCString(), 950, 20_000],
    ['0', 0, 5_000],
    ['soon', 0, 5_000],
    ['-5', 0, 5_000],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0, 5_000],
  ])('is called again after the time of its Retry-After: %s', async (delay, minMs, maxMs) => {
    const retryAfter = typeof delay === 'function' ? delay() : delay;
    const model = await createModel({ status: 429, retryAfter }, validAnswer);
    const answer = await ownerCaller.post(`${SUGGESTIONS_PATH}/concepts/${await createConcept(ownerCaller)}/generate`, {
      env: model.env,
    });
    expect(answer.status).toBe(201);
    const [first, second] = await model.asked();
    const pause = (second?.at ?? 0) - (first?.at ?? 0);
    expect([pause >= minMs, pause <= maxMs, pause]).toEqual([true, true, pause]);
  });

  it.each([
    [{ status: 500 }, 503, 'AI_PROVIDER_UNAVAILABLE', 3],
    [{ status: 429 }, 503, 'AI_PROVIDER_UNAVAILABLE', 3],
    [{ half: true }, 503, 'AI_PROVIDER_UNAVAILABLE', 3],
    [{ body: '<html>' }, 502, 'AI_OUTPUT_INVALID', 3],
    [{ status: 401 }, 502, 'AI_PROVIDER_REFUSED', 1],
    [{ text: 'no' }, 502, 'AI_OUTPUT_INVALID', 3],
    [makeProposal({ description: null }), 502, 'AI_OUTPUT_INVALID', 1],
  ] as const)(
    'fails the request, without showing the API key, when it answers %j',
    async (step, status, code, requestCount) => {
      const { answer, asked } = await requestSuggestion([step]);
      expect([readStatusAndCode(answer), asked]).toEqual([[status, code], requestCount]);
      expect(JSON.stringify(answer.body)).not.toContain(AI_KEY);
    },
  );

  it('fails the request as invalid when its answer is longer than 1 MiB', async () => {
    const { answer } = await requestSuggestion([{ body: `"${'x'.repeat(1024 * 1024 - 1)}"` }]);
    expect(readStatusAndCode(answer)).toEqual([502, 'AI_OUTPUT_INVALID']);
  });
});
