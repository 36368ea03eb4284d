import { describe, expect, it } from 'vitest';
import type { UserActor } from '../../src/access/actors.ts';
import { compileAccess } from '../../src/access/evaluation.ts';
import { recordCheck } from '../../src/modules/knowledge/resources/checks.ts';
import type { ResourceDefinition } from '../../src/modules/knowledge/resources/definition.ts';
import { createResource } from '../../src/modules/knowledge/resources/lifecycle.ts';
import { findResources } from '../../src/modules/knowledge/resources/reading.ts';
import { checkItem, checkItemNow } from '../../src/modules/knowledge/semantic/check.ts';
import { type SemanticItem, semanticItem } from '../../src/modules/knowledge/semantic/item.ts';
import type { JobMessage } from '../../src/platform/job-messages.ts';
import { createTable, createTableClient, makeColumn } from '../managed-tables/support.ts';
import { createProvisionedCompany } from '../support/companies.ts';
import { runInContext } from '../support/context.ts';
import { runSql, selectRow } from '../support/race.ts';
import { deliverMessage, loadFiles, makeFile } from '../uploads/support.ts';
import { createConcept, KNOWLEDGE_PATH, makeName } from './support.ts';

const ITEMS_PATH = `${KNOWLEDGE_PATH}/semantic`;
const UNREACHABLE_ENV = { NEON_WS_PROXY: 'ws://127.0.0.1:1/v2' };
let tableCount = 0;

const company = await createProvisionedCompany();
const ownerCaller = company.as;
const concept = await createConcept(ownerCaller);

const makeItem = (fields: Record<string, unknown>) => ({
  kind: 'metric',
  name: makeName('item'),
  description: 'x',
  source_concept_ids: [concept],
  ...fields,
});

async function createItem(fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await ownerCaller.post(ITEMS_PATH, { json: makeItem(fields) });
  if (status !== 201) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
  return body._id;
}

const makeTableName = (): string => {
  return `checked_${++tableCount}`;
};

/** Creates a table of one column `a` and an item that sums it, and returns them with functions that change the table. */
async function createSumMetric(fields: Record<string, unknown> = {}) {
  const name = makeTableName();
  const id = await createTable(ownerCaller, name, [makeColumn('a', 'integer')]);
  const sumItemId = await createItem({
    mapped_tables: [name],
    mapped_columns: [`${name}.a`],
    formula: 'sum(a)',
    ...fields,
  });
  expect(await readErrorCodes(sumItemId)).toEqual([]);
  return { name, id, summed: sumItemId, table: createTableClient(ownerCaller, id) };
}

const readErrors = async (id: string): Promise<{ code: string; message: string }[]> => {
  const row = await selectRow<{ validation_errors: string }>(
    'select validation_errors from knowledge_resources where id = ?',
    id,
  );
  return JSON.parse(row?.validation_errors ?? 'null');
};

const readErrorCodes = async (id: string): Promise<string[]> => (await readErrors(id)).map(({ code }) => code);

/** Waits until the queue's consumer has recorded the given errors of an item. */
const expectErrors = (id: string, codes: string[]) => expect.poll(() => readErrorCodes(id)).toEqual(codes);

/** Records a wrong error of an item, which only a new check removes. */
const recordWrongError = (id: string) =>
  runSql(
    `update knowledge_resources set validation_errors = '[{"field":"formula","code":"not_checked","message":"old"}]' where id = ?`,
    id,
  );

describe('a semantic item', () => {
  it('is checked again when a table is renamed, and when it gets its name back', async () => {
    const { name, summed, table } = await createSumMetric();
    await table.put({ display_name: `${name}_moved` });
    await expectErrors(summed, ['unknown_table', 'unknown_table', 'nothing_to_compile_on']);
    await table.put({ display_name: name });
    await expectErrors(summed, []);
    // Checking is no change of the item.
    expect((await ownerCaller.get(`${ITEMS_PATH}/${summed}/versions`)).body.total).toBe(1);
  });

  it('is checked again when a table that it names by id is renamed', async () => {
    const name = makeTableName();
    const id = await createTable(ownerCaller, name, [makeColumn('a', 'integer')]);
    const sumItemId = await createItem({ mapped_tables: [id], formula: `sum(${name}.a)` });
    await createTableClient(ownerCaller, id).put({ display_name: `${name}_moved` });
    await expectErrors(sumItemId, ['does_not_compile']);
  });

  it('is checked again when a column is renamed', async () => {
    const { summed, table } = await createSumMetric();
    await table.put({ columns: [{ ...makeColumn('b', 'integer'), previous_name: 'a' }] });
    await expectErrors(summed, ['unknown_column', 'does_not_compile']);
  });

  it('is checked again when a column is deleted, and when it is added', async () => {
    const { summed, table } = await createSumMetric();
    await table.put({ columns: [makeColumn('b', 'integer')] });
    await expectErrors(summed, ['unknown_column', 'does_not_compile']);
    await table.put({ columns: [makeColumn('b', 'integer'), makeColumn('a', 'integer')] });
    await expectErrors(summed, []);
  });

  it('is checked again when a column gets another type', async () => {
    const { summed, table } = await createSumMetric();
    await table.put({ columns: [makeColumn('a', 'text')] });
    await expectErrors(summed, ['does_not_compile']);
    expect((await readErrors(summed))[0]?.message).toContain('sum(text)');
    await table.put({ columns: [makeColumn('a', 'decimal')] });
    await expectErrors(summed, []);
  });

  it('is checked again when a table is deleted, and when a table of its name is created or uploaded', async () => {
    const { name, summed, table } = await createSumMetric();
    const unknownTableErrors = ['unknown_table', 'unknown_table', 'nothing_to_compile_on'];
    await table.delete();
    await expectErrors(summed, unknownTableErrors);
    const newTableId = await createTable(ownerCaller, name, [makeColumn('a', 'integer')]);
    await expectErrors(summed, []);
    await createTableClient(ownerCaller, newTableId).delete();
    await expectErrors(summed, unknownTableErrors);
    await loadFiles(company, [makeFile('again.csv', 'a\n1\n2\n')], { display_name: name });
    await expectErrors(summed, []);
  });

  it('is checked again when the rows of a table are replaced by an upload', async () => {
    const { id, name, summed } = await createSumMetric();
    await recordWrongError(summed);
    const loadedJob = await loadFiles(
      company,
      [makeFile('new.csv', 'a\n7\n')],
      { display_name: name },
      { into: id, mode: 'replace' },
    );
    expect(loadedJob.status).toBe('done');
    await expectErrors(summed, []);
  });

  it('is checked again when only its SQL names the table', async () => {
    const { name, table } = await createSumMetric();
    const otherTableName = makeTableName();
    await createTable(ownerCaller, otherTableName, [makeColumn('x', 'integer')]);
    const entityFields = { kind: 'entity', mapped_tables: [otherTableName] };
    const formulaItem = await createItem({ ...entityFields, formula: `sum(x) / (SELECT count(*) FROM ${name})` });
    const filter = await createItem({ ...entityFields, filters: ['x > 0', `x IN (SELECT a FROM "${name}")`] });
    expect([await readErrorCodes(formulaItem), await readErrorCodes(filter)]).toEqual([[], []]);
    await table.delete();
    await expectErrors(formulaItem, ['does_not_compile']);
    await expectErrors(filter, ['does_not_compile']);
  });

  it('is checked again when it is restored', async () => {
    const { summed, table } = await createSumMetric();
    await ownerCaller.delete(`${ITEMS_PATH}/${summed}`);
    await table.delete();
    const { body } = await ownerCaller.patch(`${ITEMS_PATH}/${summed}`, { json: { status: 'draft' } });
    expect(body.validation_errors[0]).toMatchObject({ code: 'unknown_table' });
  });
});

describe('a change while a semantic item is checked', () => {
  it('of a table is noticed by a check that began before the change', async () => {
    const { name, summed, table } = await createSumMetric();
    const checkResult = await runInContext({ kind: 'system' as const, companyId: company.id }, async (ctx) => {
      const [resource] = await findResources(ctx, [summed]);
      if (!resource) throw new Error('It is gone.');
      let finishedCheckCount = 0;
      const errors = await recordCheck(ctx, resource, async () => {
        const check = await checkItemNow(ctx, resource.content as SemanticItem);
        finishedCheckCount += 1;
        // Another check, of the changed table, has the time to note what it found.
        if (finishedCheckCount === 1) await table.put({ display_name: `${name}_moved` });
        if (finishedCheckCount === 1)
          await expectErrors(summed, ['unknown_table', 'unknown_table', 'nothing_to_compile_on']);
        return check;
      });
      return { checks: finishedCheckCount, codes: errors.map(({ code }) => code) };
    });
    expect(checkResult).toEqual({ checks: 2, codes: ['unknown_table', 'unknown_table', 'nothing_to_compile_on'] });
    expect(await readErrorCodes(summed)).toEqual(checkResult.codes);
  });

  it('of the item prevents the outdated check from being recorded', async () => {
    const { summed } = await createSumMetric();
    await runInContext({ kind: 'system' as const, companyId: company.id }, async (ctx) => {
      const [resource] = await findResources(ctx, [summed]);
      if (!resource) throw new Error('It is gone.');
      await recordCheck(ctx, resource, async () => {
        const check = await checkItemNow(ctx, resource.content as SemanticItem);
        await ownerCaller.patch(`${ITEMS_PATH}/${summed}`, { json: { formula: 'sum(b)' } });
        return check;
      });
    });
    expect(await readErrorCodes(summed)).toEqual(['does_not_compile']);
  });

  it('of a table is noticed by an item that is being created', async () => {
    const name = makeTableName();
    const id = await createTable(ownerCaller, name, [makeColumn('a', 'integer')]);
    const access = compileAccess({ companyId: company.id, isOwner: true, groups: [] });
    const owner = { kind: 'user', id: company.owner.id, companyId: company.id, access } as UserActor;
    const createdItem = await runInContext(owner, (ctx) => {
      let checkCount = 0;
      const racingDefinition: ResourceDefinition<SemanticItem> = {
        ...semanticItem,
        async check(of, content) {
          const check = await checkItem(of, content);
          checkCount += 1;
          if (checkCount === 1) await createTableClient(ownerCaller, id).put({ columns: [makeColumn('b', 'integer')] });
          return check;
        },
      };
      return createResource(ctx, racingDefinition, makeItem({ mapped_tables: [name], formula: 'sum(a)' }) as never);
    });
    expect(createdItem.validationErrors.map(({ code }) => code)).toEqual(['does_not_compile']);
    expect(await readErrorCodes(createdItem.id)).toEqual(['does_not_compile']);
  });
});

describe('a recheck of all items', () => {
  /** Creates a queue whose messages the test delivers, and that records the delay of each message. */
  function createQueue() {
    const sentMessages: { message: JobMessage; pause: number | undefined }[] = [];
    const send = async (message: JobMessage, options?: { delaySeconds?: number }) =>
      void sentMessages.push({ message, pause: options?.delaySeconds });
    return { sent: sentMessages, env: { RECHECKS: { send } } };
  }

  it('continues in further messages until all are done', async () => {
    const { name } = await createSumMetric();
    const ids = await Promise.all(Array.from({ length: 42 }, () => createItem({ mapped_tables: [name] })));
    for (const id of ids) await recordWrongError(id);
    const queue = createQueue();
    const message: JobMessage = { type: 'knowledge.recheck', companyId: company.id, tables: [name], after: '' };
    expect(await deliverMessage(message, queue.env)).toBe('done');
    let deliveryCount = 1;
    for (let next = queue.sent.shift(); next; next = queue.sent.shift()) {
      await deliverMessage(next.message, queue.env);
      deliveryCount += 1;
    }
    expect(deliveryCount).toBe(3);
    expect(await Promise.all(ids.map(readErrorCodes))).toEqual(ids.map(() => []));
  });

  it('is retried until the database is reached', async () => {
    const { name } = await createSumMetric();
    const queue = createQueue();
    const { body } = await ownerCaller.post(ITEMS_PATH, {
      json: makeItem({ mapped_tables: [name], formula: 'sum(a)' }),
      env: { ...UNREACHABLE_ENV, ...queue.env } as never,
    });
    expect(body.validation_errors).toEqual([
      { field: 'mapped_tables', code: 'not_checked', message: expect.any(String) },
    ]);
    const delays: unknown[] = [];
    for (let outageNumber = 0; outageNumber < 3; outageNumber += 1) {
      const [first] = queue.sent.splice(0);
      delays.push(first?.pause);
      expect(await deliverMessage(first?.message as JobMessage, { ...UNREACHABLE_ENV, ...queue.env })).toBe('done');
    }
    expect(await readErrorCodes(body._id)).toEqual(['not_checked']);
    const [last] = queue.sent.splice(0);
    expect([...delays, last?.pause]).toEqual([60, 60, 120, 240]);
    await deliverMessage(last?.message as JobMessage, queue.env);
    expect(await readErrorCodes(body._id)).toEqual([]);
    expect(queue.sent).toEqual([]);
    // After 30 tries the failure is left to the queue, which gives the message up.
    const message = { ...(last?.message as JobMessage & { type: 'knowledge.recheck' }), tries: 30 };
    expect(await deliverMessage(message, { ...UNREACHABLE_ENV, ...queue.env })).toBe('again');
  });
});
