import { env, listDurableObjectIds, runInDurableObject } from 'cloudflare:test';
import { expect } from 'vitest';
import type { Bindings } from '../../src/config.ts';
import { OBJECT_BINDING_NAMES } from '../../src/objects/jurisdiction.ts';
import { createCaller } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { expectSuccess } from '../support/signed.ts';
import { createLocalNeonApi } from '../support/tenant.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const makePath = ({ id }: { id: string }) => `/admin/organizations/${id}`;

/** Deletes a company without delay. */
export const deleteAtOnce = (company: { id: string }) =>
  expectSuccess(operator.delete(`${makePath(company)}?after_days=0`));

/** Runs the scheduled tasks until the certificate of erasure exists. @returns the certificate */
export async function runErasure(company: { id: string }, runs = 3): Promise<string> {
  for (let run = 0; run < runs; run += 1) {
    await runScheduled();
    const { status, body } = await operator.get(`${makePath(company)}/certificate`);
    if (status === 200) return body.certificate;
  }
  throw new Error('The company is not erased.');
}

/** Lists all e-mail addresses of people that a company has stored. */
export async function listAddresses(companyId: string): Promise<string[]> {
  const { results } = await env.CONTROL_DB.prepare(
    `select email from users where company_id = ?1 union select email from outsiders where company_id = ?1
     union select subject from share_members where company_id = ?1 and member_type = 'external_email'
     union select subject from schedule_recipients where company_id = ?1 and kind = 'email'
     union select email from mail_consents where company_id = ?1`,
  )
    .bind(companyId)
    .all<{ email: string }>();
  return results.map(({ email }) => email);
}

/** Finds where one of these texts is stored, in every store of the local system: tables, keys and bodies. */
export async function findStoredPlaces(searchedTexts: readonly string[]): Promise<string[]> {
  return [
    ...(await findInControlRecords(searchedTexts)),
    ...(await findInFiles(searchedTexts)),
    ...(await findInObjects(searchedTexts)),
  ].toSorted();
}

/** Returns the marks that a text contains, each with the text before it. */
const findExcerpts = (searchedTexts: readonly string[], text: string): string[] =>
  searchedTexts.flatMap((mark) => {
    const at = text.indexOf(mark);
    return at < 0 ? [] : text.slice(Math.max(0, at - 200), at + mark.length);
  });

/** Lists the tables of the control database. */
export async function listControlTables(): Promise<string[]> {
  const { results } = await env.CONTROL_DB.prepare(
    `select name from sqlite_master where type = 'table' and name not like '\\_cf\\_%' escape '\\'
     and name not like 'sqlite%' and name <> 'd1_migrations'`,
  ).all<{ name: string }>();
  return results.map(({ name }) => name);
}

async function findInControlRecords(searchedTexts: readonly string[]): Promise<string[]> {
  const locations: string[] = [];
  for (const table of await listControlTables()) {
    const { results } = await env.CONTROL_DB.prepare(`select * from "${table}"`).all();
    // What stays is the certificate of the id.
    for (const row of table === 'company_ends' ? [] : results) {
      for (const mark of findExcerpts(searchedTexts, JSON.stringify(row))) locations.push(`D1 ${table}: ${mark}`);
    }
  }
  return locations;
}

/** Lists every key of the bucket. */
export async function listFileKeys(): Promise<string[]> {
  const keys: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await env.FILES.list({ cursor });
    keys.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return keys;
    cursor = page.cursor;
  }
}

async function findInFiles(searchedTexts: readonly string[]): Promise<string[]> {
  const locations: string[] = [];
  for (const key of await listFileKeys()) {
    const body = (await env.FILES.get(key))?.body;
    const plainBody = body && key.endsWith('.gz') ? body.pipeThrough(new DecompressionStream('gzip')) : body;
    const text = key + (plainBody ? await new Response(plainBody).text() : '');
    for (const mark of findExcerpts(searchedTexts, text)) locations.push(`R2 ${key}: ${mark}`);
  }
  return locations;
}

async function findInObjects(searchedTexts: readonly string[]): Promise<string[]> {
  const locations: string[] = [];
  for (const name of OBJECT_BINDING_NAMES) {
    const namespace = (env as unknown as Bindings)[name] as DurableObjectNamespace;
    for (const id of await listDurableObjectIds(namespace)) {
      const text = await runInDurableObject(namespace.get(id), readObjectText);
      for (const mark of findExcerpts(searchedTexts, text)) locations.push(`${name} ${id}: ${mark}`);
    }
  }
  return locations;
}

/** Reads everything that a Durable Object has on disk, as text. */
async function readObjectText(_: object, { storage }: DurableObjectState): Promise<string> {
  const tables = storage.sql
    .exec<{ name: string }>(
      "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'",
    )
    .toArray();
  const rows = tables.map(({ name }) => JSON.stringify(storage.sql.exec(`select * from "${name}"`).toArray()));
  return rows.join('\n') + JSON.stringify([...(await storage.list())]);
}

/** Deletes a company, and expects that no store holds its id, the addresses of its people or `searchedTexts` any more. */
export async function expectNothingLeft(
  company: { id: string },
  searchedTexts: readonly string[] = [],
): Promise<string> {
  const allSearchTexts = [company.id, ...(await listAddresses(company.id)), ...searchedTexts];
  const placesBefore = await findStoredPlaces(allSearchTexts);
  expect(placesBefore.length).toBeGreaterThan(0);
  await deleteAtOnce(company);
  const certificate = await runErasure(company);
  expect(await findStoredPlaces(allSearchTexts)).toEqual([]);
  expect(await createLocalNeonApi().findProject(`console-${company.id}`, Date.now() + 10_000)).toBeNull();
  return certificate;
}
