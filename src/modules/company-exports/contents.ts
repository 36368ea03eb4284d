import type { UserActor } from '../../access/actors.ts';
import { compileAccess } from '../../access/evaluation.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { pathPart } from '../../formats/zip/write.ts';
import { compareKeys, type LogKey, type LogKind, toKey } from '../../logs/log.ts';
import { viewAuditEvent } from '../audit/views.ts';
import { readLogoFile, selectCompany } from '../companies/service.ts';
import { exportLog } from '../company-log/service.ts';
import { exportAsOssie, exportTooLarge } from '../knowledge/interchange/service.ts';
import {
  type ManagedTable,
  TableChanged,
  tableAfter,
  type WrittenPosition,
  writeParquetFile,
} from '../managed-tables/service.ts';
import { viewShareEvent } from '../share-activity/views.ts';
import type { Archive, ByteSink } from './archive.ts';
import { EXPORTED_KINDS, readRecords } from './control/store.ts';
import { EXPORTED_DATABASE_KINDS, readDatabaseRecords } from './database-records.ts';
import { tableKeptChanging } from './failures.ts';

/** The context of an export's stages. */
export interface ExportWork {
  ctx: CompanyContext;
  archive: Archive;
  /** When it was asked for (ms): later records of logs are left out. */
  askedAt: number;
  /** Counts a query of the control database: their number is limited for each invocation. */
  countQuery(): void;
}

/** The position at which a stage goes on, as JSON has it. */
type Position = unknown;

/** Writes the next file of a kind, if there is one. @returns where the kind goes on; null at its end */
type Stage = (work: ExportWork, from: Position) => Promise<Position | null>;

const encoder = new TextEncoder();

/** The maximum number of queries for one file, after which the export can check its limits and save its progress. */
const MAX_QUERIES = 100;

/** The path of a kind's first file, and of those that follow. */
const formatFilePath = (path: string, ending: string, number: number): string =>
  `${path}${number === 1 ? '' : `.${number}`}.${ending}`;

interface FilePosition<P> {
  number: number;
  after: P;
}

/**
 * A stage that exports a kind of records, some lines at a time.
 * @param read returns the records after a place, and the place of the last; null at the end
 */
const exportLinesStage =
  <P>(
    path: string,
    first: P,
    read: (work: ExportWork, after: P) => Promise<{ records: object[] | string[]; next: P | null }>,
  ): Stage =>
  async (work, from) => {
    let { number, after } = (from ?? { number: 1, after: first }) as FilePosition<P>;
    return work.archive.add(formatFilePath(path, 'ndjson', number), true, async (sink) => {
      await sink.write(new Uint8Array(), 0);
      for (let queries = 0; queries < MAX_QUERIES && !sink.isFull(); queries += 1) {
        const { records, next } = await read(work, after);
        if (next === null) return null;
        await writeLines(sink, records);
        after = next;
      }
      return { number: number + 1, after };
    });
  };

const writeLines = (sink: ByteSink, records: readonly (object | string)[]): Promise<void> =>
  sink.write(
    encoder.encode(
      records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join(''),
    ),
    records.length,
  );

/** Lines of a log that are written together. */
const LOG_LINES = 500;

/** A log of the company, the newest first, archived days included. */
const exportLogStage =
  <K extends LogKind>(path: string, kind: K, view: (record: never) => object): Stage =>
  async (work, from) => {
    const { number, after } = (from ?? { number: 1, after: null }) as FilePosition<LogKey | null>;
    return work.archive.add(formatFilePath(path, 'ndjson', number), true, async (sink) => {
      await sink.write(new Uint8Array(), 0);
      let last = after;
      const waiting: object[] = [];
      const flush = () => writeLines(sink, waiting.splice(0));
      for await (const record of exportLog(work.ctx, kind, { to: after?.at ?? work.askedAt, values: {} })) {
        const key = toKey(record);
        if (after && compareKeys(key, after) >= 0) continue;
        waiting.push(view(record as never));
        last = key;
        if (waiting.length < LOG_LINES) continue;
        await flush();
        if (sink.isFull()) return { number: number + 1, after: last };
      }
      await flush();
      return null;
    });
  };

const exportLogo: Stage = async ({ ctx, archive }) => {
  const [company] = await selectCompany(ctx.db, ctx.actor.companyId);
  const file = company && (await readLogoFile(ctx, company));
  if (!company?.logo || !file) return null;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return archive.add(`logo.${company.logo.type.replace('image/', '')}`, false, async (sink) => {
    await sink.write(bytes);
    return null;
  });
};

/** The maximum number of bytes of a document, which is made in memory. Records beyond that are exported all the same. */
const MAX_KNOWLEDGE_BYTES = 8 * 1024 * 1024;

const exportKnowledgeDocument: Stage = async ({ ctx, archive }) => {
  const text = await exportAsOssie(makeOwnerContext(ctx), MAX_KNOWLEDGE_BYTES).catch((error) => {
    if (exportTooLarge.matches(error)) return null;
    throw error;
  });
  if (text === null) return null;
  return archive.add('knowledge.ossie.yaml', true, async (sink) => {
    await sink.write(encoder.encode(text));
    return null;
  });
};

/** The context of a fictitious owner, who may see everything in the company. */
function makeOwnerContext(ctx: CompanyContext): PrincipalContext {
  const { companyId } = ctx.actor;
  const nobody = { id: '', companySlug: '', email: '', name: '', sessionId: '' };
  const access = compileAccess({ companyId, isOwner: true, groups: [] });
  const actor: UserActor = { ...nobody, kind: 'user', companyId, isOwner: true, access };
  return { ...ctx, actor };
}

/** The number of times that a table may change while it is written. */
const MAX_CHANGES = 5;

interface TablePosition {
  /** The table before; an empty text before the first. */
  id: string;
  /** The table of which a part is written. */
  within?: { table: string; folder: string; number: number; from: WrittenPosition };
  /** The number of times that the next table has changed. */
  changes?: number;
}

/** Tables in the order of their ids: each as its schema, and as many Parquet files as it needs. */
const exportTables: Stage = async ({ ctx, archive }, from) => {
  const { id, within, changes = 0 } = (from ?? { id: '' }) as TablePosition;
  const remove = (folder: string) => archive.forget(({ path }) => path.startsWith(`${folder}/`));
  const table = await tableAfter(ctx, id);
  if (within && within.table !== table?.id) {
    // It was deleted meanwhile.
    remove(within.folder);
    return { id };
  }
  if (!table) return null;
  const { folder, number, from: after } = within ?? { folder: chooseFolder(archive, table), number: 1, from: null };
  try {
    if (!within) await writeSchema(archive, folder, table);
    const path = `${folder}/${String(number).padStart(4, '0')}.parquet`;
    const next = await archive.add(path, false, (sink) => writeParquetFile(ctx, table, after, sink));
    return next
      ? { id, changes, within: { table: table.id, folder, number: number + 1, from: next } }
      : { id: table.id };
  } catch (error) {
    if (!(error instanceof TableChanged)) throw error;
    if (changes === MAX_CHANGES) throw tableKeptChanging(table.displayName);
    remove(folder);
    return { id, changes: changes + 1 };
  }
};

/** The folder of a table. Two tables may have had the same name, one after the other. */
function chooseFolder({ files }: Archive, { id, displayName }: ManagedTable): string {
  const folder = `tables/${pathPart(displayName)}`;
  return files.some(({ path }) => path.startsWith(`${folder}/`)) ? `${folder}.${id}` : folder;
}

const writeSchema = (archive: Archive, folder: string, table: ManagedTable): Promise<void> =>
  archive.add(`${folder}/schema.json`, true, (sink) => {
    const { id, displayName, columns, source, createdAt, updatedAt } = table;
    const schema = { id, name: displayName, source, created_at: createdAt, updated_at: updatedAt, columns };
    return sink.write(encoder.encode(`${JSON.stringify(schema, null, 2)}\n`));
  });

/** All stages of an export, in this order. An export under way stores the name of its stage: the list may have changed since. */
export const STAGES: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  ...[...EXPORTED_KINDS].map(
    ([name, kind]) =>
      [
        `records/${name}`,
        exportLinesStage(`records/${name}`, 0, ({ ctx, countQuery }, after) => {
          countQuery();
          return readRecords(ctx.db, ctx.actor.companyId, kind, after);
        }),
      ] as const,
  ),
  ...EXPORTED_DATABASE_KINDS.map(
    (kind) =>
      [
        `records/${kind.name}`,
        exportLinesStage(`records/${kind.name}`, '', async ({ ctx }, after) => {
          const rows = await readDatabaseRecords(ctx, kind, after);
          return { records: rows.map(({ line }) => line), next: rows.at(-1)?.id ?? null };
        }),
      ] as const,
  ),
  ['logo', exportLogo],
  ['knowledge', exportKnowledgeDocument],
  ['audit-events', exportLogStage('audit-events', 'audit', viewAuditEvent)],
  ['share-events', exportLogStage('share-events', 'share', viewShareEvent)],
  ['tables', exportTables],
]);
