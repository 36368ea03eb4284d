import type { UserActor } from '../../access/actors.ts';
import { compileAccess } from '../../access/evaluation.ts';
import type { CompanyContext, PrincipalContext } from '../../context.ts';
import { makePathPart } from '../../formats/zip/write.ts';
import { compareKeys, type LogKey, type LogKind, toLogKey } from '../../logs/log.ts';
import { viewAuditEvent } from '../audit/views.ts';
import { readLogoFile, selectCompany } from '../companies/service.ts';
import { exportLog } from '../company-log/service.ts';
import { exportTooLarge } from '../knowledge/interchange/failures.ts';
import { exportAsOssie } from '../knowledge/interchange/service.ts';
import {
  type ManagedTable,
  readNextTable,
  TableChangedError,
  type WrittenPosition,
  writeParquetFile,
} from '../managed-tables/service.ts';
import { viewShareEvent } from '../share-activity/views.ts';
import type { Archive, ByteSink } from './archive.ts';
import { EXPORTED_KINDS, readRecords } from './control/store.ts';
import { EXPORTED_DATABASE_TABLES, readDatabaseRecords } from './database-records.ts';
import { tableKeptChanging } from './failures.ts';

/** The context of an export's stages. */
export interface StageContext {
  ctx: CompanyContext;
  archive: Archive;
  /** When the export was requested (ms): later log records are left out. */
  requestedAt: number;
  /** Counts a query of the control database: their number is limited for each invocation. */
  countQuery(): void;
}

/** The position at which a stage continues, as it is stored in JSON. */
type StagePosition = unknown;

/** Writes the next file of a stage, if there is one. @returns where the stage continues; null at its end */
type Stage = (work: StageContext, from: StagePosition) => Promise<StagePosition | null>;

const encoder = new TextEncoder();

/** The maximum number of queries for one file, after which the export can check its limits and save its progress. */
const MAX_QUERIES = 100;

/** Returns the path of a kind's first file, or of a further file. */
const formatFilePath = (path: string, number: number): string => `${path}${number === 1 ? '' : `.${number}`}.ndjson`;

interface FilePosition<P> {
  /** The number of the file, from 1. */
  number: number;
  /** The position after the last record that is written. */
  after: P;
}

/**
 * Makes a stage, with its name, that exports a kind of records, some lines at a time. @param readBatch returns the records after a
 * position, and the position of the last; null at the end
 */
function createRecordsStage<P>(
  name: string,
  firstPosition: P,
  readBatch: (work: StageContext, position: P) => Promise<{ records: object[] | string[]; nextPosition: P | null }>,
): [string, Stage] {
  const path = `records/${name}`;
  const exportRecords: Stage = async (work, from) => {
    let { number, after } = (from ?? { number: 1, after: firstPosition }) as FilePosition<P>;
    return work.archive.addFile(formatFilePath(path, number), true, async (sink) => {
      await sink.write(new Uint8Array(), 0);
      for (let queryCount = 0; queryCount < MAX_QUERIES && !sink.isFull(); queryCount += 1) {
        const { records, nextPosition } = await readBatch(work, after);
        if (nextPosition === null) return null;
        await writeLines(sink, records);
        after = nextPosition;
      }
      return { number: number + 1, after };
    });
  };
  return [path, exportRecords];
}

const writeLines = (sink: ByteSink, records: readonly (object | string)[]): Promise<void> =>
  sink.write(
    encoder.encode(
      records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join(''),
    ),
    records.length,
  );

/** The number of log lines that are written together. */
const LOG_LINES_PER_BATCH = 500;

/** Makes a stage that exports a log of the company, the newest first, archived days included. */
const createLogStage =
  <K extends LogKind>(path: string, kind: K, viewRecord: (record: never) => object): Stage =>
  async (work, from) => {
    const { number, after } = (from ?? { number: 1, after: null }) as FilePosition<LogKey | null>;
    return work.archive.addFile(formatFilePath(path, number), true, async (sink) => {
      await sink.write(new Uint8Array(), 0);
      let lastKey = after;
      const pendingRecords: object[] = [];
      const flush = () => writeLines(sink, pendingRecords.splice(0));
      for await (const record of exportLog(work.ctx, kind, { to: after?.at ?? work.requestedAt, values: {} })) {
        const key = toLogKey(record);
        if (after && compareKeys(key, after) >= 0) continue;
        pendingRecords.push(viewRecord(record as never));
        lastKey = key;
        if (pendingRecords.length < LOG_LINES_PER_BATCH) continue;
        await flush();
        if (sink.isFull()) return { number: number + 1, after: lastKey };
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
  return archive.addFile(`logo.${company.logo.type.replace('image/', '')}`, false, async (sink) => {
    await sink.write(bytes);
    return null;
  });
};

const KNOWLEDGE_PATH = 'knowledge.ossie.yaml';
/** The maximum size of the knowledge document, which is made in memory. Larger knowledge is exported as records only. */
const MAX_KNOWLEDGE_BYTES = 8 * 1024 * 1024;

/** Lists the files that a complete archive does not have because of their size, for its manifest. */
export const listLeftOutFiles = ({ files }: Archive): { path: string; reason: string }[] =>
  files.some(({ path }) => path === KNOWLEDGE_PATH)
    ? []
    : [
        {
          path: KNOWLEDGE_PATH,
          reason: 'It would have more than 8 MiB. All knowledge is in records/knowledge_resources.ndjson.',
        },
      ];

const exportKnowledgeDocument: Stage = async ({ ctx, archive }) => {
  const text = await exportAsOssie(makeOwnerContext(ctx), MAX_KNOWLEDGE_BYTES).catch((error) => {
    if (exportTooLarge.matches(error)) return null;
    throw error;
  });
  if (text === null) return null;
  return archive.addFile(KNOWLEDGE_PATH, true, async (sink) => {
    await sink.write(encoder.encode(text));
    return null;
  });
};

/** Returns the context of a fictitious owner, who may see everything in the company. */
function makeOwnerContext(ctx: CompanyContext): PrincipalContext {
  const { companyId } = ctx.actor;
  const emptyIdentity = { id: '', companySlug: '', email: '', name: '', sessionId: '' };
  const access = compileAccess({ companyId, isOwner: true, groups: [] });
  const actor: UserActor = { ...emptyIdentity, kind: 'user', companyId, isOwner: true, access };
  return { ...ctx, actor };
}

/** The number of times that a table may change while it is written. */
const MAX_TABLE_CHANGES = 5;

interface TablePosition {
  /** The id of the previous table; an empty text before the first. */
  id: string;
  /** The table that is partly written. */
  within?: { table: string; folder: string; number: number; from: WrittenPosition };
  /** The number of times that the next table has changed. */
  changes?: number;
}

/** Exports tables in the order of their ids: each as its schema, and as many Parquet files as it needs. */
const exportTables: Stage = async ({ ctx, archive }, from) => {
  const { id, within, changes = 0 } = (from ?? { id: '' }) as TablePosition;
  const unlistFolder = (folder: string) => archive.unlistFiles(({ path }) => path.startsWith(`${folder}/`));
  const table = await readNextTable(ctx, id);
  if (within && within.table !== table?.id) {
    // It was deleted meanwhile.
    unlistFolder(within.folder);
    return { id };
  }
  if (!table) return null;
  const {
    folder,
    number,
    from: afterPosition,
  } = within ?? { folder: chooseFolder(archive, table), number: 1, from: null };
  try {
    if (!within) await writeSchema(archive, folder, table);
    const path = `${folder}/${String(number).padStart(4, '0')}.parquet`;
    const nextPosition = await archive.addFile(path, false, (sink) =>
      writeParquetFile(ctx, table, afterPosition, sink),
    );
    return nextPosition
      ? { id, changes, within: { table: table.id, folder, number: number + 1, from: nextPosition } }
      : { id: table.id };
  } catch (error) {
    if (!(error instanceof TableChangedError)) throw error;
    if (changes === MAX_TABLE_CHANGES) throw tableKeptChanging(table.displayName);
    unlistFolder(folder);
    return { id, changes: changes + 1 };
  }
};

/** Returns an unused folder for a table. Two tables may have had the same name, one after the other. */
function chooseFolder({ files }: Archive, { id, displayName }: ManagedTable): string {
  const folder = `tables/${makePathPart(displayName)}`;
  return files.some(({ path }) => path.startsWith(`${folder}/`)) ? `${folder}.${id}` : folder;
}

const writeSchema = (archive: Archive, folder: string, table: ManagedTable): Promise<void> =>
  archive.addFile(`${folder}/schema.json`, true, (sink) => {
    const { id, displayName, columns, source, createdAt, updatedAt } = table;
    const schema = { id, name: displayName, source, created_at: createdAt, updated_at: updatedAt, columns };
    return sink.write(encoder.encode(`${JSON.stringify(schema, null, 2)}\n`));
  });

/** All stages of an export, in order. An unfinished export stores the name of its stage: the list may have changed since. */
export const EXPORT_STAGES: ReadonlyMap<string, Stage> = new Map<string, Stage>([
  ...[...EXPORTED_KINDS].map(([name, kind]) =>
    createRecordsStage(name, 0, ({ ctx, countQuery }, afterRowNumber) => {
      countQuery();
      return readRecords(ctx.db, ctx.actor.companyId, kind, afterRowNumber);
    }),
  ),
  ...EXPORTED_DATABASE_TABLES.map((kind) =>
    createRecordsStage(kind.name, '', async ({ ctx }, afterId) => {
      const rows = await readDatabaseRecords(ctx, kind, afterId);
      return { records: rows.map(({ line }) => line), nextPosition: rows.at(-1)?.id ?? null };
    }),
  ),
  ['logo', exportLogo],
  ['knowledge', exportKnowledgeDocument],
  ['audit-events', createLogStage('audit-events', 'audit', viewAuditEvent)],
  ['share-events', createLogStage('share-events', 'share', viewShareEvent)],
  ['tables', exportTables],
]);
