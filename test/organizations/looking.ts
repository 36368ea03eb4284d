import { env, listDurableObjectIds, runInDurableObject } from 'cloudflare:test';
import { expect } from 'vitest';
import type { Bindings } from '../../src/config.ts';
import { OBJECT_NAMES } from '../../src/objects/jurisdiction.ts';
import { createCaller } from '../support/api.ts';
import { runScheduled } from '../support/clock.ts';
import { must } from '../support/signed.ts';
import { neon } from '../support/tenant.ts';

export const operator = createCaller('operator-token-of-the-tests');
export const makePath = ({ id }: { id: string }) => `/admin/organizations/${id}`;

/** Has a company ended at once. */
export const endAtOnce = (company: { id: string }) => must(operator.delete(`${makePath(company)}?after_days=0`));

/** Runs what is scheduled until the certificate is there. @returns it */
export async function runErasure(company: { id: string }, runs = 3): Promise<string> {
  for (let run = 0; run < runs; run += 1) {
    await runScheduled();
    const { status, body } = await operator.get(`${makePath(company)}/certificate`);
    if (status === 200) return body.certificate;
  }
  throw new Error('The company is not erased.');
}

/** All addresses of people that a company knows. */
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

/** Where one of these texts stands, in every store of the local system: tables, keys and bodies. */
export async function findPlaces(marks: readonly string[]): Promise<string[]> {
  return [
    ...(await findInControlRecords(marks)),
    ...(await findInFiles(marks)),
    ...(await findInObjects(marks)),
  ].toSorted();
}

/** The marks that a text has, each with what stands before it. */
const findMarks = (marks: readonly string[], text: string): string[] =>
  marks.flatMap((mark) => {
    const at = text.indexOf(mark);
    return at < 0 ? [] : text.slice(Math.max(0, at - 200), at + mark.length);
  });

/** The tables of the control database. */
export async function listControlTables(): Promise<string[]> {
  const { results } = await env.CONTROL_DB.prepare(
    `select name from sqlite_master where type = 'table' and name not like '\\_cf\\_%' escape '\\'
     and name not like 'sqlite%' and name <> 'd1_migrations'`,
  ).all<{ name: string }>();
  return results.map(({ name }) => name);
}

async function findInControlRecords(marks: readonly string[]): Promise<string[]> {
  const places: string[] = [];
  for (const table of await listControlTables()) {
    const { results } = await env.CONTROL_DB.prepare(`select * from "${table}"`).all();
    // What stays is the certificate of the id.
    for (const row of table === 'company_ends' ? [] : results) {
      for (const mark of findMarks(marks, JSON.stringify(row))) places.push(`D1 ${table}: ${mark}`);
    }
  }
  return places;
}

/** Every key of the bucket. */
export async function listFileKeys(): Promise<string[]> {
  const keys: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await env.FILES.list({ cursor });
    keys.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return keys;
    cursor = page.cursor;
  }
}

async function findInFiles(marks: readonly string[]): Promise<string[]> {
  const places: string[] = [];
  for (const key of await listFileKeys()) {
    const body = (await env.FILES.get(key))?.body;
    const plain = body && key.endsWith('.gz') ? body.pipeThrough(new DecompressionStream('gzip')) : body;
    const text = key + (plain ? await new Response(plain).text() : '');
    for (const mark of findMarks(marks, text)) places.push(`R2 ${key}: ${mark}`);
  }
  return places;
}

async function findInObjects(marks: readonly string[]): Promise<string[]> {
  const places: string[] = [];
  for (const name of OBJECT_NAMES) {
    const namespace = (env as unknown as Bindings)[name] as DurableObjectNamespace;
    for (const id of await listDurableObjectIds(namespace)) {
      const text = await runInDurableObject(namespace.get(id), readObjectText);
      for (const mark of findMarks(marks, text)) places.push(`${name} ${id}: ${mark}`);
    }
  }
  return places;
}

/** All that an object has on disk. */
async function readObjectText(_: object, { storage }: DurableObjectState): Promise<string> {
  const tables = storage.sql
    .exec<{ name: string }>(
      "select name from sqlite_master where type = 'table' and name not like '\\_cf%' escape '\\'",
    )
    .toArray();
  const rows = tables.map(({ name }) => JSON.stringify(storage.sql.exec(`select * from "${name}"`).toArray()));
  return rows.join('\n') + JSON.stringify([...(await storage.list())]);
}

/** Ends a company, and looks for what is left of it, its people and `marks`. */
export async function expectNothingLeft(company: { id: string }, marks: readonly string[] = []): Promise<string> {
  const all = [company.id, ...(await listAddresses(company.id)), ...marks];
  const before = await findPlaces(all);
  expect(before.length).toBeGreaterThan(0);
  await endAtOnce(company);
  const certificate = await runErasure(company);
  expect(await findPlaces(all)).toEqual([]);
  expect(await neon().findProject(`console-${company.id}`, Date.now() + 10_000)).toBeNull();
  return certificate;
}
