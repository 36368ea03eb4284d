import { makeAffectedPrincipals } from '../../../access/commit-access.ts';
import type { Bindings } from '../../../config.ts';
import type { CompanyContext } from '../../../context.ts';
import { commit, countChangedRows, readTogether } from '../../../db/client.ts';
import { awaitWithinTime } from '../../../kernel/time-limit.ts';
import type { LogKind } from '../../../logs/log.ts';
import { isPersonNamedIn, type Person, redactJson } from '../../../logs/redaction.ts';
import type { CompanyLog } from '../../../objects/company-log.ts';
import { callObject } from '../../../platform/objects.ts';
import { abortNotedUploads, deleteObjects } from '../../../platform/stored-files.ts';
import { viewAuditEvent } from '../../audit/views.ts';
import { exportLog } from '../../company-log/service.ts';
import { countUserRecords, deleteDatabase, hasDatabase, replaceUserIds } from '../../managed-database/service.ts';
import { viewShareEvent } from '../../share-activity/views.ts';
import { callSender } from '../../webhooks/service.ts';
import {
  CONTROL_TABLES,
  deleteCompanyRows,
  selectAnyRow,
  selectEndpointIds,
  selectOutsiders,
} from './control-store.ts';
import { eraseControlRecords, type PersonalRecord, readControlRecords } from './people-records.ts';
import { addDeletedCount } from './store.ts';

/** The result of a step of the erasure. */
export interface ErasureStep {
  /** The number of deleted rows, objects or projects, except those that the store has counted itself. */
  removedCount: number;
  /** The position at which the next step continues; null when nothing remains. */
  nextCursor: string | null;
}

/** A place that stores data of a company. */
export interface DataStore {
  /** The name of the store in the certificate. */
  name: string;
  /** A description of the company's data in the store. */
  description: string;
  /** Deletes a bounded part of the data. May be repeated, and interrupted anywhere. @param cursor null from the beginning */
  erase(ctx: CompanyContext, cursor: string | null): Promise<ErasureStep>;
  /** Tells whether data of the company remains in the store. */
  hasData(ctx: CompanyContext): Promise<boolean>;
  /** The functions that read and erase the data of one person; or the reason why the store has none. */
  personData: PersonDataStore | string;
}

/** Further data that identifies a person who is erased. */
export interface IdentifyingData {
  outsiderIds: readonly string[];
  /** The names that the person's users have had. */
  userNames: readonly string[];
}

/** Reads and erases the data of one person in a store. */
interface PersonDataStore {
  /** `early`: read through a connection that ends with the request, so that everything is read before the response begins. */
  readTiming?: 'early';
  readRecords(ctx: CompanyContext, person: Person): AsyncIterable<PersonalRecord>;
  /** Deletes the person's data, and puts the pseudonym where they are named. Repeatable. @returns counts by kind */
  erase(ctx: CompanyContext, person: Person, identifyingData: IdentifyingData): Promise<Record<string, number>>;
}

/** The maximum number of objects that one step lists. */
const KEYS_PER_STEP = 1000;
/** The longest time that R2 may take to list objects. Milliseconds. */
const MAX_LIST_MS = 20_000;
/** The maximum number of files that one step reads. */
const FILES_PER_STEP = 50;
const OUTSIDERS_PER_STEP = 100;
/** The maximum number of tables in one step. */
const TABLES_PER_STEP = 10;

/** Returns the key prefixes of a company's own objects. */
export const listOwnFilePrefixes = (companyId: string): readonly string[] => [
  `${companyId}/`,
  `uploads/${companyId}/`,
  `exports/${companyId}/`,
  `company-exports/${companyId}/`,
  `data-results/${companyId}/`,
  `knowledge/${companyId}/`,
  `log/${companyId}/`,
];

/** The key prefixes of objects with lines of all companies: each line names its company. */
export const SHARED_FILE_PREFIXES = [
  'undelivered/',
  'archive/',
  'dead-letters/',
  'dead-letters-wanted/',
  'dead-letters-sent/',
] as const;

const listFiles = (ctx: CompanyContext, options: R2ListOptions): Promise<R2Objects> =>
  awaitWithinTime(MAX_LIST_MS, ctx.files.list(options));

const databaseStore: DataStore = {
  name: 'database',
  description: 'the project at Neon: tables, upload jobs, their history',
  erase: async (ctx) => ({ removedCount: await deleteDatabase(ctx), nextCursor: null }),
  hasData: hasDatabase,
  personData: {
    readTiming: 'early',
    async *readRecords(ctx, person) {
      for (const record of await countUserRecords(ctx, person.ids)) yield { kind: 'tables', record };
    },
    erase: async (ctx, person) => ({ tables: await replaceUserIds(ctx, person.ids, person.pseudonym) }),
  },
};

const logStore: DataStore = {
  name: 'log',
  description: 'audit records, share events and counts of views in the object CompanyLog',
  erase: async ({ bindings, actor: { companyId } }) => ({
    removedCount: await callObject(bindings.COMPANY_LOG, companyId, async (object) => await object.erase()),
    nextCursor: null,
  }),
  // It is closed for good.
  hasData: async () => false,
  personData: {
    async *readRecords(ctx, person) {
      yield* readLogNamingPerson(ctx, 'audit', person, 'audit_records', viewAuditEvent);
      yield* readLogNamingPerson(ctx, 'share', person, 'share_events', viewShareEvent);
    },
    async erase({ bindings, actor: { companyId } }, person) {
      let changedCount = 0;
      let cursor: RedactionResult['next'] = null;
      do {
        const at: RedactionResult['next'] = cursor;
        const redactionResult: RedactionResult = await callObject(
          bindings.COMPANY_LOG,
          companyId,
          async (object) => (await object.redact(person, at)) as RedactionResult,
        );
        changedCount += redactionResult.changed;
        cursor = redactionResult.next;
      } while (cursor !== null);
      return { log_records: changedCount };
    },
  },
};

type RedactionResult = Awaited<ReturnType<CompanyLog['redact']>>;

/** Yields the records of a log that name a person, in the form in which exports of the log have them. */
async function* readLogNamingPerson<K extends LogKind>(
  ctx: CompanyContext,
  kind: K,
  person: Person,
  name: string,
  viewRecord: (record: never) => Record<string, unknown>,
): AsyncGenerator<PersonalRecord> {
  for await (const record of exportLog(ctx, kind, { values: {} })) {
    const viewedRecord = viewRecord(record as never);
    if (isPersonNamedIn(JSON.stringify(viewedRecord), person)) yield { kind: name, record: viewedRecord };
  }
}

const fileStore: DataStore = {
  name: 'files',
  description:
    'logos, uploads, exports, also those that are not whole, results of the Data API, sources of knowledge, archived days of the log',
  async erase(ctx) {
    for (const prefix of listOwnFilePrefixes(ctx.actor.companyId)) {
      const { objects } = await listFiles(ctx, { prefix, limit: KEYS_PER_STEP });
      if (objects.length === 0) continue;
      const keys = objects.map(({ key }) => key);
      await abortNotedUploads(ctx.files, keys);
      await deleteObjects(ctx.files, keys);
      return { removedCount: objects.length, nextCursor: prefix };
    }
    return { removedCount: 0, nextCursor: null };
  },
  async hasData(ctx) {
    for (const prefix of listOwnFilePrefixes(ctx.actor.companyId)) {
      if ((await listFiles(ctx, { prefix, limit: 1 })).objects.length > 0) return true;
    }
    return false;
  },
  personData: 'days of the log are the log’s to rewrite; all else is what people sent, or was read of tables',
};

const sharedFileStore: DataStore = {
  name: 'undelivered',
  description: 'messages that no consumer could handle, records that no log took',
  async erase(ctx, cursor) {
    const [at = '0', position] = (cursor ?? '').split(' ');
    const prefixIndex = Number(at);
    const prefix = SHARED_FILE_PREFIXES[prefixIndex];
    if (prefix === undefined) return { removedCount: 0, nextCursor: null };
    const page = await listFiles(ctx, { prefix, limit: FILES_PER_STEP, ...(position && { startAfter: position }) });
    let removedCount = 0;
    for (const { key } of page.objects) removedCount += await removeCompanyLines(ctx, key);
    const lastKey = page.objects.at(-1)?.key;
    return {
      removedCount,
      nextCursor: page.truncated && lastKey ? `${prefixIndex} ${lastKey}` : `${prefixIndex + 1}`,
    };
  },
  // Each is read when it is erased.
  hasData: async () => false,
  personData: {
    async *readRecords(ctx, person) {
      for await (const { line } of findLinesNamingPerson(ctx, person)) yield { kind: 'undelivered', record: { line } };
    },
    async erase(ctx, person) {
      let changedCount = 0;
      for await (const { key, text } of readSharedTexts(ctx)) {
        const lines = text.split('\n');
        const redactedLines = lines.map((line) =>
          line.includes(ctx.actor.companyId) ? redactJson(line, person) : line,
        );
        const count = redactedLines.filter((line, at) => line !== lines[at]).length;
        if (count > 0) await ctx.files.put(key, redactedLines.join('\n'));
        changedCount += count;
      }
      return { undelivered: changedCount };
    },
  },
};

async function* readSharedTexts({ files: bucket }: CompanyContext): AsyncGenerator<{ key: string; text: string }> {
  for (const prefix of SHARED_FILE_PREFIXES) {
    for (let cursor: string | undefined; ; ) {
      const page: R2Objects = await awaitWithinTime(
        MAX_LIST_MS,
        bucket.list({ prefix, limit: FILES_PER_STEP, cursor }),
      );
      for (const { key } of page.objects) yield { key, text: (await (await bucket.get(key))?.text()) ?? '' };
      if (!page.truncated) break;
      cursor = page.cursor;
    }
  }
}

async function* findLinesNamingPerson(ctx: CompanyContext, person: Person): AsyncGenerator<{ line: string }> {
  for await (const { text } of readSharedTexts(ctx)) {
    for (const line of text.split('\n')) {
      if (line.includes(ctx.actor.companyId) && isPersonNamedIn(line, person)) yield { line };
    }
  }
}

/** Removes the lines of a company from a file, which is deleted if none remain. @returns how many it removed */
async function removeCompanyLines(
  { files: bucket, actor: { companyId } }: CompanyContext,
  key: string,
): Promise<number> {
  const text = (await (await bucket.get(key))?.text()) ?? '';
  if (!text.includes(companyId)) return 0;
  const lines = text.split('\n').filter((line) => line !== '');
  const otherLines = lines.filter((line) => !line.includes(companyId));
  if (otherLines.length === 0) await deleteObjects(bucket, [key]);
  else await bucket.put(key, otherLines.map((line) => `${line}\n`).join(''));
  return lines.length - otherLines.length;
}

const outsiderKeyStore: DataStore = {
  name: 'outsider_requests',
  description: 'idempotency keys of outsiders, with the answers, in objects of TokenLimiter',
  async erase(ctx, cursor) {
    const outsiderRows = await selectOutsiders(ctx.db, ctx.actor.companyId, cursor ?? '', OUTSIDERS_PER_STEP);
    for (const { id } of outsiderRows) {
      await callObject(ctx.bindings.TOKEN_LIMITER, id, async (limiter) => await limiter.erase());
    }
    return {
      removedCount: outsiderRows.length,
      nextCursor: outsiderRows.length < OUTSIDERS_PER_STEP ? null : (outsiderRows.at(-1)?.id ?? null),
    };
  },
  hasData: async () => false,
  personData: {
    // Answers are encrypted, and kept for a day.
    async *readRecords() {},
    async erase({ bindings }, _person, { outsiderIds }) {
      for (const id of outsiderIds) {
        await callObject(bindings.TOKEN_LIMITER, id, async (limiter) => await limiter.erase());
      }
      return {};
    },
  },
};

const gateStore: DataStore = {
  name: 'requests',
  description: 'nonces, idempotency keys with the answers, and versions of access in the object OrganizationGate',
  async erase({ bindings, actor: { companyId } }) {
    await callObject(bindings.ORGANIZATION_GATE, companyId, async (object) => await object.erase());
    return { removedCount: 1, nextCursor: null };
  },
  // Whoever knocks later leaves a nonce there for an hour, of a key that is none any more.
  hasData: async () => false,
  personData: {
    async *readRecords() {},
    async erase({ bindings, actor: { companyId } }, { ids }) {
      await callObject(bindings.ORGANIZATION_GATE, companyId, async (object) => await object.forget(ids));
      return {};
    },
  },
};

const deliveryStore: DataStore = {
  name: 'webhook_deliveries',
  description: 'what webhook endpoints were sent, and are to be sent, in objects of WebhookSender',
  async erase(ctx) {
    const endpoints = await selectEndpointIds(ctx.db, ctx.actor.companyId);
    for (const { id } of endpoints) await callSender(ctx, id, async (sender) => await sender.end());
    return { removedCount: endpoints.length, nextCursor: null };
  },
  // Messages that would have it sent something are dropped.
  hasData: async () => false,
  personData: {
    async *readRecords(ctx, person) {
      for (const { id } of await selectEndpointIds(ctx.db, ctx.actor.companyId)) {
        for (let afterId: string | null = ''; afterId !== null; ) {
          const from: string = afterId;
          const { bodies, next } = await callSender(ctx, id, async (sender) => await sender.naming(person, from));
          for (const body of bodies) yield { kind: 'webhook_deliveries', record: JSON.parse(body) };
          afterId = next;
        }
      }
    },
    erase: (ctx, person) => eraseDeliveries(ctx, person),
  },
};

/** Replaces a person by the pseudonym in sent and waiting deliveries of endpoints. */
export async function eraseDeliveries(ctx: CompanyContext, person: Person): Promise<Record<string, number>> {
  let changedCount = 0;
  for (const { id } of await selectEndpointIds(ctx.db, ctx.actor.companyId)) {
    for (let afterId: string | null = ''; afterId !== null; ) {
      const from: string = afterId;
      const redactionResult = await callSender(ctx, id, async (sender) => await sender.redact(person, from));
      changedCount += redactionResult.changed;
      afterId = redactionResult.next;
    }
  }
  return { webhook_deliveries: changedCount };
}

const controlRecordStore: DataStore = {
  name: 'control_records',
  description: 'people, access, dashboards, shares, knowledge, jobs, schedules and mails in D1',
  async erase(ctx, cursor) {
    const { companyId } = ctx.actor;
    const from = Number(cursor ?? 0);
    const tables = CONTROL_TABLES.slice(from, from + TABLES_PER_STEP);
    if (tables.length === 0) return { removedCount: 0, nextCursor: null };
    // Nobody is let in since it was suspended: there is nobody to whom it would have to be announced.
    const { deleted } = await ctx.changeAccess(makeAffectedPrincipals(companyId), () =>
      commit(ctx.db, {
        deleted: tables.flatMap((table) => [
          deleteCompanyRows(ctx.db, table, companyId),
          addDeletedCount(ctx.db, companyId, controlRecordStore.name),
        ]),
      }),
    );
    const isDone = deleted.every((result, at) => at % 2 === 1 || countChangedRows(result) === 0);
    return { removedCount: 0, nextCursor: String(isDone ? from + TABLES_PER_STEP : from) };
  },
  async hasData(ctx) {
    for (let from = 0; from < CONTROL_TABLES.length; from += TABLES_PER_STEP) {
      const tables = CONTROL_TABLES.slice(from, from + TABLES_PER_STEP);
      const { found } = await readTogether(ctx.db, {
        found: tables.map((table) => selectAnyRow(ctx.db, table, ctx.actor.companyId)),
      });
      if (found.some((rows) => rows.length > 0)) return true;
    }
    return false;
  },
  personData: {
    readRecords: readControlRecords,
    erase: (ctx, person, { userNames }) => eraseControlRecords(ctx, person, userNames),
  },
};

/** All stores of company data, in the order of erasure: the last, the control records, says which data is whose. */
export const DATA_STORES: readonly DataStore[] = [
  databaseStore,
  logStore,
  fileStore,
  sharedFileStore,
  outsiderKeyStore,
  gateStore,
  deliveryStore,
  controlRecordStore,
];

/** The stores of company data behind each binding; or a sentence that says why nothing has to be erased. */
export const DATA_STORES_BY_BINDING: Record<keyof Bindings, readonly DataStore[] | string> = {
  CONTROL_DB: [controlRecordStore],
  FILES: [fileStore, sharedFileStore],
  COMPANY_LOG: [logStore],
  ORGANIZATION_GATE: [gateStore],
  TOKEN_LIMITER: [outsiderKeyStore],
  WEBHOOK_SENDER: [deliveryStore],
  VIEWER_GATE: 'keeps nothing on disk',
  ATTEMPT_LIMITER: 'keeps a number and a time under a digest, for a quarter of an hour',
  IP_LIMITER: 'keeps what belongs to no company, for a minute',
  JOBS: 'messages that come after the erasure has begun are dropped: `readCompanyState`',
  MODEL_JOBS: 'likewise',
  RECHECKS: 'likewise',
  DATA_JOBS: 'likewise',
  SCHEDULES: 'likewise',
  WEBHOOKS: 'likewise',
  AUDIT: 'a log that was erased takes no more records',
  SHARE_EVENTS: 'likewise',
  EMAIL: 'keeps nothing',
  PAGES: 'are the same for all',
};
