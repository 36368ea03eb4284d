import { beforeAll, describe, expect, it } from 'vitest';
import { readStatusAndCode } from '../support/console.ts';
import { aCompany, aUser, type Company } from '../support/worlds.ts';
import { acceptSuggestion, createPromotion, createSuggestion, SUGGESTIONS } from './suggesting.ts';
import { createItem, KNOWLEDGE_PATH, makeName, readInvalidFields, UNKNOWN_ID } from './support.ts';

let company: Company;
let asOwner: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

const readConcept = async (id: string) => (await asOwner.get(`${KNOWLEDGE_PATH}/concepts/${id}`)).body;

describe('the acceptance of a suggestion', () => {
  it('adds a version that names the suggestion', async () => {
    const { id, conceptId } = await createSuggestion(asOwner, 'Better.');
    const { status, body } = await acceptSuggestion(asOwner, id);
    expect(status).toBe(200);
    expect(body.resource).toMatchObject({ _id: conceptId, description: 'Better.', version: 2, suggestion_id: id });
    expect(body.suggestion).toMatchObject({ status: 'accepted', reviewed_by_user_id: company.owner.id });
    const { records } = (await asOwner.get(`${KNOWLEDGE_PATH}/concepts/${conceptId}/versions`)).body;
    expect(records[0]).toMatchObject({ version: 2, suggestion_id: id, changed_by_user_id: company.owner.id });
    expect((await asOwner.get(`${SUGGESTIONS}?status=accepted`)).body.records[0]._id).toBe(id);
  });

  it('applies the changes of the reviewer', async () => {
    const { id } = await createSuggestion(asOwner, 'Better.');
    const { body } = await acceptSuggestion(asOwner, id, {
      override_payload: { description: 'Mine.', status: 'active' },
    });
    expect(body.resource).toMatchObject({ description: 'Mine.', status: 'active' });
    expect(body.suggestion.suggested_payload).toEqual({ description: 'Better.' });
  });

  it('validates the changes of the reviewer', async () => {
    const { id, conceptId } = await createSuggestion(asOwner);
    const wrong = await acceptSuggestion(asOwner, id, {
      override_payload: { description: 'x'.repeat(4097), status: 'archived' },
    });
    expect(readInvalidFields(wrong).sort()).toEqual(['override_payload.description', 'override_payload.status']);
    const mistyped = await acceptSuggestion(asOwner, id, { override_payload: { descripton: 'Mine.' } });
    expect([mistyped.status, readInvalidFields(mistyped)]).toEqual([422, ['override_payload.descripton']]);
    expect((await readConcept(conceptId)).version).toBe(1);
    expect((await acceptSuggestion(asOwner, id)).status).toBe(200);
  });

  it('is refused with the difference when the target has changed since', async () => {
    const { id, conceptId } = await createSuggestion(asOwner, 'Better.');
    await asOwner.patch(`${KNOWLEDGE_PATH}/concepts/${conceptId}`, {
      json: { description: 'Mine.', tags: ['new'], status: 'active' },
    });
    const answer = await acceptSuggestion(asOwner, id);
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
    expect((await asOwner.get(SUGGESTIONS)).body.records.map(({ _id }: { _id: string }) => _id)).toContain(id);
  });

  it('is refused when the target has been archived since', async () => {
    const { id, conceptId } = await createSuggestion(asOwner);
    await asOwner.delete(`${KNOWLEDGE_PATH}/concepts/${conceptId}`);
    expect(readStatusAndCode(await acceptSuggestion(asOwner, id))).toEqual([409, 'SUGGESTION_STALE']);
  });

  it('is refused when the name has been taken since', async () => {
    const name = makeName('Taken');
    const { id } = await createPromotion(asOwner, { kind: 'entity', name, description: 'x' });
    await createItem(asOwner, { kind: 'entity', name });
    expect(readStatusAndCode(await acceptSuggestion(asOwner, id))).toEqual([409, 'SEMANTIC_ITEM_DUPLICATE']);
    expect((await acceptSuggestion(asOwner, id, { override_payload: { name: makeName('Other') } })).status).toBe(200);
  });

  it('needs the permission for the target too', async () => {
    const { id, conceptId } = await createSuggestion(asOwner);
    const { id: making } = await createPromotion(asOwner, { name: makeName('New'), description: 'x' });
    const reviewer = async (...can: string[]) =>
      (await aUser(company, { can: ['knowledge_reviews:review', ...can] })).as;
    const mere = await reviewer('concepts:create', 'semantic:update');
    for (const suggestion of [id, making]) {
      expect(readStatusAndCode(await acceptSuggestion(mere, suggestion))).toEqual([403, 'FORBIDDEN']);
    }
    const noReviewer = (await aUser(company, { can: ['concepts:*', 'knowledge_reviews:list'] })).as;
    expect(readStatusAndCode(await acceptSuggestion(noReviewer, id))).toEqual([403, 'FORBIDDEN']);
    expect((await readConcept(conceptId)).version).toBe(1);
    expect((await acceptSuggestion(await reviewer('concepts:update'), id)).status).toBe(200);
    expect((await acceptSuggestion(await reviewer('semantic:create'), making)).status).toBe(200);
  });
});

describe('the rejection of a suggestion', () => {
  it('records the reviewer, the time and the note', async () => {
    const { id, conceptId } = await createSuggestion(asOwner);
    const { status, body } = await asOwner.post(`${SUGGESTIONS}/${id}/reject`, { json: { review_note: 'Too long.' } });
    expect([status, body.status, body.review_note]).toEqual([200, 'rejected', 'Too long.']);
    expect(body).toMatchObject({ reviewed_by_user_id: company.owner.id, reviewed_at: expect.any(String) });
    expect(readStatusAndCode(await asOwner.post(`${SUGGESTIONS}/${id}/reject`))).toEqual([
      409,
      'SUGGESTION_NOT_PENDING',
    ]);
    expect(readStatusAndCode(await acceptSuggestion(asOwner, id))).toEqual([409, 'SUGGESTION_NOT_PENDING']);
    expect((await readConcept(conceptId)).version).toBe(1);
  });

  it('needs no note, and accepts one of up to 4096 characters', async () => {
    const reject = async (json?: unknown) =>
      asOwner.post(`${SUGGESTIONS}/${(await createSuggestion(asOwner)).id}/reject`, { json });
    expect((await reject()).body.review_note).toBeNull();
    expect((await reject({ review_note: 'x'.repeat(4096) })).status).toBe(200);
    expect(readInvalidFields(await reject({ review_note: 'x'.repeat(4097) }))).toEqual(['review_note']);
  });
});

describe('the acceptance of several suggestions', () => {
  const bulk = (ids: unknown, caller = asOwner) => caller.post(`${SUGGESTIONS}/bulk-accept`, { json: { ids } });

  it('answers for each, and does not stop at one that fails', async () => {
    const good = await createSuggestion(asOwner);
    const stale = await createSuggestion(asOwner);
    await asOwner.patch(`${KNOWLEDGE_PATH}/concepts/${stale.conceptId}`, { json: { tags: ['x'] } });
    const { status, body } = await bulk([UNKNOWN_ID, stale.id, good.id, good.id]);
    expect(status).toBe(200);
    expect(body.accepted).toEqual([
      {
        suggestion: expect.objectContaining({ _id: good.id, status: 'accepted' }),
        resource: expect.objectContaining({ _id: good.conceptId, version: 2 }),
      },
    ]);
    expect(body.failed.map(({ id, error }: Record<string, string>) => [id, error])).toEqual([
      [UNKNOWN_ID, 'SUGGESTION_NOT_FOUND'],
      [stale.id, 'SUGGESTION_STALE'],
    ]);
    expect(body.failed[0].message).toEqual(expect.any(String));
  });

  it('fails only those that the caller may not accept', async () => {
    const { as: reviewer } = await aUser(company, { can: ['knowledge_reviews:review', 'concepts:update'] });
    const concept = await createSuggestion(asOwner);
    const item = await createPromotion(asOwner, { name: makeName('New'), description: 'x' });
    const { body } = await bulk([item.id, concept.id], reviewer);
    expect(body.accepted).toHaveLength(1);
    expect(body.failed).toEqual([expect.objectContaining({ id: item.id, error: 'FORBIDDEN' })]);
    const { as: nobody } = await aUser(company, { can: ['concepts:update'] });
    expect(readStatusAndCode(await bulk([concept.id], nobody))).toEqual([403, 'FORBIDDEN']);
  });

  it('accepts 1 to 100 ids', async () => {
    expect(readInvalidFields(await bulk([]))).toEqual(['ids']);
    expect(readInvalidFields(await bulk(Array.from({ length: 101 }, () => UNKNOWN_ID)))).toEqual(['ids']);
    expect((await bulk(Array.from({ length: 100 }, () => UNKNOWN_ID))).body.failed).toHaveLength(1);
  });
});
