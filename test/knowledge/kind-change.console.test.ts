import { beforeAll, expect, it } from 'vitest';
import { statusAndCode } from '../support/console.ts';
import { overtaken } from '../support/rival.ts';
import { must } from '../support/signed.ts';
import { aCompany, type Company } from '../support/worlds.ts';
import { aName, anItem, fieldsOf, KNOWLEDGE_PATH } from './support.ts';

let company: Company;
let asOwner: Company['as'];

beforeAll(async () => {
  company = await aCompany();
  asOwner = company.as;
});

const item = (fields: Record<string, unknown> = {}) => anItem(asOwner, { kind: 'metric', ...fields });
const change = (id: string, json: unknown, env: Record<string, string> = {}) =>
  asOwner.patch(`${KNOWLEDGE_PATH}/semantic/${id}`, { json, env });
const kindOf = async (id: string) => (await must(asOwner.get(`${KNOWLEDGE_PATH}/semantic/${id}`))).kind;

const REPLACE = /^update "knowledge_resources"/;
const INSERT = /^insert into "knowledge_resources"/;
const IN_USE = [409, 'SEMANTIC_ITEM_IN_USE'];

it.each(['metric', 'entity'])(
  'the kind of a %s cannot be changed while an unarchived item refers to it',
  async (kind) => {
    const [id, field] = [await item({ kind }), kind === 'metric' ? 'depends_on_metrics' : 'depends_on_entities'];
    const name = aName('Uses it');
    const [one, other] = [await item({ name, [field]: [id] }), await item({ [field]: [id] })];
    const refused = await change(id, { kind: 'dimension' });
    expect(statusAndCode(refused)).toEqual(IN_USE);
    expect(refused.body.details).toMatchObject({ field: 'kind' });
    expect(refused.body.details.items).toContainEqual({ id: one, kind: 'metric', name });
    expect(await kindOf(id)).toBe(kind);
    // Everything else of it can be changed.
    expect((await change(id, { grain: 'day' })).status).toBe(200);
    await must(change(one, { [field]: [] }));
    expect(statusAndCode(await change(id, { kind: 'dimension' }))).toEqual(IN_USE);
    await asOwner.delete(`${KNOWLEDGE_PATH}/semantic/${other}`);
    expect((await change(id, { kind: 'dimension' })).status).toBe(200);
    // What names it comes back only without it.
    expect(fieldsOf(await change(other, { status: 'draft' }))).toEqual([`${field}.0`]);
    expect((await change(other, { status: 'draft', [field]: [] })).status).toBe(200);
  },
);

it('the kind of a metric cannot be changed while a formula builds on it', async () => {
  const name = aName('Built on');
  const id = await item({ name });
  const builder = await item({ formula: `{{ ${name.toUpperCase()} }} / 2` });
  await item({ formula: '{{Something else}} * 2' });
  const refused = await change(id, { kind: 'entity' });
  expect(statusAndCode(refused)).toEqual(IN_USE);
  expect(refused.body.details.items.map(({ id }: { id: string }) => id)).toEqual([builder]);
  await must(change(builder, { formula: '1' }));
  expect((await change(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of a metric can be changed though a formula of another company has its name', async () => {
  const id = await item({ name: 'Shared name' });
  const other = await aCompany();
  await anItem(other.as, { kind: 'metric', formula: '{{Shared name}} + 1' });
  expect((await change(id, { kind: 'entity' })).status).toBe(200);
});

it('the kind of an item cannot be changed if a reference to it is written just before', async () => {
  const id = await item();
  const rival = () => item({ depends_on_metrics: [id] });
  const created = await overtaken(REPLACE, rival, (env) => change(id, { kind: 'entity' }, env));
  expect([statusAndCode(created), await kindOf(id)]).toEqual([IN_USE, 'metric']);

  const name = aName('Built on');
  const [another, builder] = [await item({ name }), await item({ formula: '{{Something else}}' })];
  const changed = await overtaken(
    REPLACE,
    () => must(change(builder, { formula: `{{${name}}}` })),
    (env) => change(another, { kind: 'entity' }, env),
  );
  expect([statusAndCode(changed), await kindOf(another)]).toEqual([IN_USE, 'metric']);
});

it('an item cannot refer to a metric whose kind was changed just before', async () => {
  const id = await item();
  const json = { kind: 'metric', name: aName('Late'), description: 'x', depends_on_metrics: [id] };
  const concepts = (await must(asOwner.get(`${KNOWLEDGE_PATH}/concepts`))).records;
  const created = await overtaken(
    INSERT,
    () => must(change(id, { kind: 'entity' })),
    (env) =>
      asOwner.post(`${KNOWLEDGE_PATH}/semantic`, { json: { ...json, source_concept_ids: [concepts[0]._id] }, env }),
  );
  expect(fieldsOf(created)).toEqual(['depends_on_metrics.0']);

  const [another, late] = [await item(), await item()];
  const rival = () => must(change(another, { kind: 'entity' }));
  const changed = await overtaken(REPLACE, rival, (env) => change(late, { depends_on_metrics: [another] }, env));
  expect(fieldsOf(changed)).toEqual(['depends_on_metrics.0']);
});
