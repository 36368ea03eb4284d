import { describe, expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { acceptSuggestion, createPromotion, createSuggestion, SUGGESTIONS_PATH } from './suggesting.ts';
import { createItem, KNOWLEDGE_PATH, makeName, readInvalidFields, UNKNOWN_ID } from './support.ts';

const company = await createOwnedCompany();
const ownerCaller = company.as;

const readConcept = async (id: string) => (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body;

describe('the acceptance of a suggestion', () => {
  it('adds a version that names the suggestion', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller, 'Better.');
    const { status, body } = await acceptSuggestion(ownerCaller, id);
    expect(status).toBe(200);
    expect(body.resource).toMatchObject({ _id: conceptId, description: 'Better.', version: 2, suggestion_id: id });
    expect(body.suggestion).toMatchObject({ status: 'accepted', reviewed_by_user_id: company.owner.id });
    const { records } = (await ownerCaller.get(`${KNOWLEDGE_PATH}/concepts/${conceptId}/versions`)).body;
    expect(records[0]).toMatchObject({ version: 2, suggestion_id: id, changed_by_user_id: company.owner.id });
    expect((await ownerCaller.get(`${SUGGESTIONS_PATH}?status=accepted`)).body.records[0]._id).toBe(id);
  });

  it('applies the changes of the reviewer', async () => {
    const { id } = await createSuggestion(ownerCaller, 'Better.');
    const { body } = await acceptSuggestion(ownerCaller, id, {
      override_payload: { description: 'Mine.', status: 'active' },
    });
    expect(body.resource).toMatchObject({ description: 'Mine.', status: 'active' });
    expect(body.suggestion.suggested_payload).toEqual({ description: 'Better.' });
  });

  it('validates the changes of the reviewer', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    const invalidAnswer = await acceptSuggestion(ownerCaller, id, {
      override_payload: { description: 'x'.repeat(4097), status: 'archived' },
    });
    expect(readInvalidFields(invalidAnswer).sort()).toEqual([
      'override_payload.description',
      'override_payload.status',
    ]);
    const mistypedAnswer = await acceptSuggestion(ownerCaller, id, { override_payload: { descripton: 'Mine.' } });
    expect([mistypedAnswer.status, readInvalidFields(mistypedAnswer)]).toEqual([422, ['override_payload.descripton']]);
    expect((await readConcept(conceptId)).version).toBe(1);
    expect((await acceptSuggestion(ownerCaller, id)).status).toBe(200);
  });

  it('is refused with the differences if the target has changed since the suggestion', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller, 'Better.');
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/concepts/${conceptId}`, {
      json: { description: 'Mine.', tags: ['new'], status: 'active' },
    });
    const answer = await acceptSuggestion(ownerCaller, id);
    expect(readStatusAndCode(answer)).toEqual([409, 'SUGGESTION_STALE']);
    const { difference, ...versions } = answer.body.details;
    expect(versions).toEqual({ version_suggested_for: 1, version_now: 2 });
    expect(new Set(difference)).toEqual(
      new Set([
        { field: 'description', before: 'What a concept is.', now: 'Mine.', suggested: 'Better.' },
        { field: 'tags', before: [], now: ['new'] },
        { field: 'status', before: 'draft', now: 'active' },
      ]),
    );
    expect((await readConcept(conceptId)).description).toBe('Mine.');
    expect((await ownerCaller.get(SUGGESTIONS_PATH)).body.records.map(({ _id }: { _id: string }) => _id)).toContain(id);
  });

  it('is refused without the differences for a caller who may not get the target', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/concepts/${conceptId}`, { json: { description: 'Mine.' } });
    const { as } = await createAllowedUser(company, { can: ['knowledge_reviews:review', 'concepts:update'] });
    const bulkAnswer = await as.post(`${SUGGESTIONS_PATH}/bulk-accept`, { json: { ids: [id] } });
    for (const { details } of [(await acceptSuggestion(as, id)).body, bulkAnswer.body.failed[0]])
      expect(details).toEqual({ version_suggested_for: 1, version_now: 2, difference: [] });
  });

  it('is refused if the target has been archived since the suggestion', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/concepts/${conceptId}`);
    expect(readStatusAndCode(await acceptSuggestion(ownerCaller, id))).toEqual([409, 'SUGGESTION_STALE']);
  });

  it('is refused if the name has been taken since the suggestion', async () => {
    const name = makeName('Taken');
    const { id } = await createPromotion(ownerCaller, { kind: 'entity', name, description: 'x' });
    await createItem(ownerCaller, { kind: 'entity', name });
    expect(readStatusAndCode(await acceptSuggestion(ownerCaller, id))).toEqual([409, 'SEMANTIC_ITEM_DUPLICATE']);
    expect((await acceptSuggestion(ownerCaller, id, { override_payload: { name: makeName('Other') } })).status).toBe(
      200,
    );
  });

  it('needs the permission for the target, too', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    const { id: promotionId } = await createPromotion(ownerCaller, { name: makeName('New'), description: 'x' });
    const createReviewer = async (...can: string[]) =>
      (await createAllowedUser(company, { can: ['knowledge_reviews:review', ...can] })).as;
    const limitedReviewer = await createReviewer('concepts:create', 'semantic:update');
    for (const suggestion of [id, promotionId]) {
      for (const json of [undefined, { unknown: 1 }, { override_payload: 1 }])
        expect(readStatusAndCode(await acceptSuggestion(limitedReviewer, suggestion, json))).toEqual([
          403,
          'FORBIDDEN',
        ]);
    }
    const callerWithoutReview = (await createAllowedUser(company, { can: ['concepts:*', 'knowledge_reviews:list'] }))
      .as;
    expect(readStatusAndCode(await acceptSuggestion(callerWithoutReview, id))).toEqual([403, 'FORBIDDEN']);
    expect((await readConcept(conceptId)).version).toBe(1);
    expect((await acceptSuggestion(await createReviewer('concepts:update'), id)).status).toBe(200);
    expect((await acceptSuggestion(await createReviewer('semantic:create'), promotionId)).status).toBe(200);
  });
});

describe('the rejection of a suggestion', () => {
  it('records the reviewer, the time and the note', async () => {
    const { id, conceptId } = await createSuggestion(ownerCaller);
    const { status, body } = await ownerCaller.post(`${SUGGESTIONS_PATH}/${id}/reject`, {
      json: { review_note: 'Too long.' },
    });
    expect([status, body.status, body.review_note]).toEqual([200, 'rejected', 'Too long.']);
    expect(body).toMatchObject({ reviewed_by_user_id: company.owner.id, reviewed_at: expect.any(String) });
    expect(readStatusAndCode(await ownerCaller.post(`${SUGGESTIONS_PATH}/${id}/reject`))).toEqual([
      409,
      'SUGGESTION_NOT_PENDING',
    ]);
    expect(readStatusAndCode(await acceptSuggestion(ownerCaller, id))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect((await readConcept(conceptId)).version).toBe(1);
  });

  it('needs no note, and accepts one of up to 4096 characters', async () => {
    const rejectSuggestion = async (json?: unknown) =>
      ownerCaller.post(`${SUGGESTIONS_PATH}/${(await createSuggestion(ownerCaller)).id}/reject`, { json });
    expect((await rejectSuggestion()).body.review_note).toBeNull();
    expect((await rejectSuggestion({ review_note: 'x'.repeat(4096) })).status).toBe(200);
    expect(readInvalidFields(await rejectSuggestion({ review_note: 'x'.repeat(4097) }))).toEqual(['review_note']);
  });
});

describe('the acceptance of several suggestions', () => {
  const acceptInBulk = (ids: unknown, caller = ownerCaller) =>
    caller.post(`${SUGGESTIONS_PATH}/bulk-accept`, { json: { ids } });

  it('returns a result for each, and does not stop at one that fails', async () => {
    const validSuggestion = await createSuggestion(ownerCaller);
    const staleSuggestion = await createSuggestion(ownerCaller);
    await ownerCaller.patch(`${KNOWLEDGE_PATH}/concepts/${staleSuggestion.conceptId}`, { json: { tags: ['x'] } });
    const { status, body } = await acceptInBulk([
      UNKNOWN_ID,
      staleSuggestion.id,
      validSuggestion.id,
      validSuggestion.id,
    ]);
    expect(status).toBe(200);
    expect(body.accepted).toEqual([
      {
        suggestion: expect.objectContaining({ _id: validSuggestion.id, status: 'accepted' }),
        resource: expect.objectContaining({ _id: validSuggestion.conceptId, version: 2 }),
      },
    ]);
    expect(body.failed.map(({ id, error }: Record<string, string>) => [id, error])).toEqual([
      [UNKNOWN_ID, 'SUGGESTION_NOT_FOUND'],
      [staleSuggestion.id, 'SUGGESTION_STALE'],
    ]);
    expect(body.failed[0].message).toEqual('There is no such suggestion.');
    const spanishAnswer = await ownerCaller.post(`${SUGGESTIONS_PATH}/bulk-accept`, {
      json: { ids: [UNKNOWN_ID] },
      headers: { 'accept-language': 'es' },
    });
    expect(spanishAnswer.body.failed[0].message).toBe('No se encontró: sugerencia.');
  });

  it('fails only for suggestions that the caller may not accept', async () => {
    const { as: reviewer } = await createAllowedUser(company, { can: ['knowledge_reviews:review', 'concepts:update'] });
    const concept = await createSuggestion(ownerCaller);
    const item = await createPromotion(ownerCaller, { name: makeName('New'), description: 'x' });
    const { body } = await acceptInBulk([item.id, concept.id], reviewer);
    expect(body.accepted).toHaveLength(1);
    expect(body.failed).toEqual([expect.objectContaining({ id: item.id, error: 'FORBIDDEN' })]);
    const { as: callerWithoutReview } = await createAllowedUser(company, { can: ['concepts:update'] });
    expect(readStatusAndCode(await acceptInBulk([concept.id], callerWithoutReview))).toEqual([403, 'FORBIDDEN']);
  });

  it('accepts 1 to 100 ids', async () => {
    expect(readInvalidFields(await acceptInBulk([]))).toEqual(['ids']);
    expect(readInvalidFields(await acceptInBulk(Array.from({ length: 101 }, () => UNKNOWN_ID)))).toEqual(['ids']);
    expect((await acceptInBulk(Array.from({ length: 100 }, () => UNKNOWN_ID))).body.failed).toHaveLength(1);
  });
});
