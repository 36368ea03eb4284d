import { beforeAll, expect, it } from 'vitest';
import { readStatusAndCode } from '../support/console.ts';
import { sendOvertaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { createItem, KNOWLEDGE_PATH, makeName, readInvalidFields } from './support.ts';

let company: Company;
let asOwner: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

const createItemOfConcept = (fields: Record<string, unknown> = {}) =>
  createItem(asOwner, { kind: 'metric', ...fields });
const changeItem = (id: string, json: unknown, env: Record<string, string> = {}) =>
  asOwner.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json, env });
const readKind = async (id: string) => (await must(asOwner.get(`${KNOWLEDGE_PATH}/semantic/${id}`))).kind;

const REPLACE = /^update "knowledge_resources"/;
const INSERT = /^insert into "knowledge_resources"/;
const IN_USE = [409, 'SEMANTIC_ITEM_IN_USE'];

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
    const refused = await changeItem(id, { kind: 'dimension' });
    expect(readStatusAndCode(refused)).toEqual(IN_USE);
    expect(refused.body.details).toMatchObject({ field: 'kind' });
    expect(refused.body.details.items).toContainEqual({ id: one, kind: 'metric', name });
    expect(await readKind(id)).toBe(kind);
    // Everything else of it can be changed.
    expect((await changeItem(id, { grain: 'day' })).status).toBe(200);
    await must(changeItem(one, { [field]: [] }));
    expect(readStatusAndCode(await changeItem(id, { kind: 'dimension' }))).toEqual(IN_USE);
    await asOwner.delete(`${KNOWLEDGE_PATH}/semantic/${other}`);
    expect((await changeItem(id, { kind: 'dimension' })).status).toBe(200);
    // What names it comes back only without it.
    expect(readInvalidFields(await changeItem(other, { status: 'draft' }))).toEqual([`${field}.0`]);
    expect((await changeItem(other, { status: 'draft', [field]: [] })).status).toBe(200);
  },
);

it('the kind of a metric cannot be changed while a formula builds on it', async () => {
  const name = makeName('Built on');
  const id = await createItemOfConcept({ name });
  const builder = await createItemOfConcept({ formula: `{{ ${name.toUpperCase()} }} / 2` });
  await createItemOfConcept({ formula: '{{Something else}} * 2' });
  const refused = await changeItem(id, { kind: 'entity' });
  expect(readStatusAndCode(refused)).toEqual(IN_USE);
  expect(refused.body.details.items.map(({ id }: { id: string }) => id)).toEqual([builder]);
  await must(changeItem(builder, { formula: '1' }));
  expect((await changeItem(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of a metric can be changed though a formula of another company has its name', async () => {
  const id = await createItemOfConcept({ name: 'Shared name' });
  const other = await aCompany();
  await createItem(other.as, { kind: 'metric', formula: '{{Shared name}} + 1' });
  expect((await changeItem(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of an item cannot be changed if a reference to it is written just before', async () => {
  const id = await createItemOfConcept();
  const rival = () => createItemOfConcept({ depends_on_metrics: [id] });
  const created = await sendOvertaken(REPLACE, rival, (env) => changeItem(id, { kind: 'entity' }, env));
  expect([readStatusAndCode(created), await readKind(id)]).toEqual([IN_USE, 'metric']);

  const name = makeName('Built on');
  const [another, builder] = [
    await createItemOfConcept({ name }),
    await createItemOfConcept({ formula: '{{Something else}}' }),
  ];
  const changed = await sendOvertaken(
    REPLACE,
    () => must(changeItem(builder, { formula: `{{${name}}}` })),
    (env) => changeItem(another, { kind: 'entity' }, env),
  );
  expect([readStatusAndCode(changed), await readKind(another)]).toEqual([IN_USE, 'metric']);
});

it('an item cannot refer to a metric whose kind was changed just before', async () => {
  const id = await createItemOfConcept();
  const json = { kind: 'metric', name: makeName('Late'), description: 'x', depends_on_metrics: [id] };
  const concepts = (await must(asOwner.get(`${KNOWLEDGE_PATH}/concepts`))).records;
  const created = await sendOvertaken(
    INSERT,
    () => must(changeItem(id, { kind: 'entity' })),
    (env) =>
      asOwner.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...json, source_concept_ids: [concepts[0]._id] }, env }),
  );
  expect(readInvalidFields(created)).toEqual(['depends_on_metrics.0']);

  const [another, late] = [await createItemOfConcept(), await createItemOfConcept()];
  const rival = () => must(changeItem(another, { kind: 'entity' }));
  const changed = await sendOvertaken(REPLACE, rival, (env) =>
    changeItem(late, { depends_on_metrics: [another] }, env),
  );
  expect(readInvalidFields(changed)).toEqual(['depends_on_metrics.0']);
});
