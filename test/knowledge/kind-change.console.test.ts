import { expect, it } from 'vitest';
import { createAllowedUser, createOwnedCompany } from '../support/companies.ts';
import { readStatusAndCode } from '../support/console.ts';
import { sendDuringRace } from '../support/race.ts';
import { expectSuccess } from '../support/signed.ts';
import { createItem, KNOWLEDGE_PATH, makeName, readInvalidFields } from './support.ts';

const company = await createOwnedCompany();
const ownerCaller = company.as;

const createItemOfConcept = (fields: Record<string, unknown> = {}) =>
  createItem(ownerCaller, { kind: 'metric', ...fields });
const changeItem = (id: string, json: unknown, env: Record<string, string> = {}) =>
  ownerCaller.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json, env });
const readKind = async (id: string) => (await expectSuccess(ownerCaller.get(`${KNOWLEDGE_PATH}/semantic/${id}`))).kind;

const RESOURCE_UPDATE_PATTERN = /^update "knowledge_resources"/;
const RESOURCE_INSERT_PATTERN = /^insert into "knowledge_resources"/;
const IN_USE_ERROR = [409, 'SEMANTIC_ITEM_IN_USE'];

it.each(['metric', 'entity'])(
  'the kind of a %s cannot be changed while an unarchived item refers to it',
  async (kind) => {
    const [id, field] = [
      await createItemOfConcept({ kind }),
      kind === 'metric' ? 'depends_on_metrics' : 'depends_on_entities',
    ];
    const name = makeName('Uses it');
    const [one, other] = [
      await createItemOfConcept({ name, [field]: [id] }),
      await createItemOfConcept({ [field]: [id] }),
    ];
    const refusedAnswer = await changeItem(id, { kind: 'dimension' });
    expect(readStatusAndCode(refusedAnswer)).toEqual(IN_USE_ERROR);
    expect(refusedAnswer.body.details).toMatchObject({ field: 'kind' });
    expect(refusedAnswer.body.details.items).toContainEqual({ id: one, kind: 'metric', name });
    expect(await readKind(id)).toBe(kind);
    // Everything else of it can be changed.
    expect((await changeItem(id, { grain: 'day' })).status).toBe(200);
    await expectSuccess(changeItem(one, { [field]: [] }));
    expect(readStatusAndCode(await changeItem(id, { kind: 'dimension' }))).toEqual(IN_USE_ERROR);
    await ownerCaller.delete(`${KNOWLEDGE_PATH}/semantic/${other}`);
    expect((await changeItem(id, { kind: 'dimension' })).status).toBe(200);
    // What names it comes back only without it.
    expect(readInvalidFields(await changeItem(other, { status: 'draft' }))).toEqual([`${field}.0`]);
    expect((await changeItem(other, { status: 'draft', [field]: [] })).status).toBe(200);
  },
);

it('a refused change of the kind names only referring items that the caller may get', async () => {
  const name = makeName('Referred to');
  const id = await createItemOfConcept({ name });
  const shownItem = await createItemOfConcept({ depends_on_metrics: [id] });
  const hiddenItem = await createItemOfConcept({ formula: `{{${name}}} * 2` });
  const readNamedItems = async (user: Parameters<typeof createAllowedUser>[1]) => {
    const { as } = await createAllowedUser(company, user);
    const answer = await as.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json: { kind: 'dimension' } });
    expect(readStatusAndCode(answer)).toEqual(IN_USE_ERROR);
    return answer.body.details.items.map((item: { id: string }) => item.id);
  };
  const deniedUser = { can: ['semantic:*'], denied: ['semantic:list'], deniedArns: [`*:item/${hiddenItem}`] };
  expect(await readNamedItems(deniedUser)).toEqual([shownItem]);
  expect(await readNamedItems({ can: ['semantic:update'] })).toEqual([]);
});

it('the kind of a metric cannot be changed while a formula builds on it', async () => {
  const name = makeName('Built on');
  const id = await createItemOfConcept({ name });
  const dependentMetric = await createItemOfConcept({ formula: `{{ ${name.toUpperCase()} }} / 2` });
  await createItemOfConcept({ formula: '{{Something else}} * 2' });
  const refusedAnswer = await changeItem(id, { kind: 'entity' });
  expect(readStatusAndCode(refusedAnswer)).toEqual(IN_USE_ERROR);
  expect(refusedAnswer.body.details.items.map(({ id }: { id: string }) => id)).toEqual([dependentMetric]);
  await expectSuccess(changeItem(dependentMetric, { formula: '1' }));
  expect((await changeItem(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of a metric can be changed even if a formula of another company contains its name', async () => {
  const id = await createItemOfConcept({ name: 'Shared name' });
  const other = await createOwnedCompany();
  await createItem(other.as, { kind: 'metric', formula: '{{Shared name}} + 1' });
  expect((await changeItem(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of an item cannot be changed if a reference to it is written just before', async () => {
  const id = await createItemOfConcept();
  const referConcurrently = () => createItemOfConcept({ depends_on_metrics: [id] });
  const created = await sendDuringRace(RESOURCE_UPDATE_PATTERN, referConcurrently, (env) =>
    changeItem(id, { kind: 'entity' }, env),
  );
  expect([readStatusAndCode(created), await readKind(id)]).toEqual([IN_USE_ERROR, 'metric']);

  const name = makeName('Built on');
  const [another, builder] = [
    await createItemOfConcept({ name }),
    await createItemOfConcept({ formula: '{{Something else}}' }),
  ];
  const changeAnswer = await sendDuringRace(
    RESOURCE_UPDATE_PATTERN,
    () => expectSuccess(changeItem(builder, { formula: `{{${name}}}` })),
    (env) => changeItem(another, { kind: 'entity' }, env),
  );
  expect([readStatusAndCode(changeAnswer), await readKind(another)]).toEqual([IN_USE_ERROR, 'metric']);
});

it('an item cannot refer to a metric whose kind was changed just before', async () => {
  const id = await createItemOfConcept();
  const json = { kind: 'metric', name: makeName('Late'), description: 'x', depends_on_metrics: [id] };
  const concepts = (await expectSuccess(ownerCaller.get(`${KNOWLEDGE_PATH}/concepts`))).records;
  const created = await sendDuringRace(
    RESOURCE_INSERT_PATTERN,
    () => expectSuccess(changeItem(id, { kind: 'entity' })),
    (env) =>
      ownerCaller.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...json, source_concept_ids: [concepts[0]._id] }, env }),
  );
  expect(readInvalidFields(created)).toEqual(['depends_on_metrics.0']);

  const [secondItem, thirdItem] = [await createItemOfConcept(), await createItemOfConcept()];
  const changeConcurrently = () => expectSuccess(changeItem(secondItem, { kind: 'entity' }));
  const changeAnswer = await sendDuringRace(RESOURCE_UPDATE_PATTERN, changeConcurrently, (env) =>
    changeItem(thirdItem, { depends_on_metrics: [secondItem] }, env),
  );
  expect(readInvalidFields(changeAnswer)).toEqual(['depends_on_metrics.0']);
});
