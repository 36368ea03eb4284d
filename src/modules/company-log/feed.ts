import { type Bindings, readConfig } from '../../config.ts';
import { clock } from '../../kernel/clock.ts';
import { awaitWithinTime } from '../../kernel/time-limit.ts';
import { LOG_KINDS, type LogKind, type LogRecord, type LogRecords, PLATFORM_LOG } from '../../logs/log.ts';
import { limitToJurisdiction } from '../../objects/jurisdiction.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';

/** The number of records from which a batch is handed over at once, even while a call of the log is running. */
const BATCH_SIZE = 100;

/** The time limit for a call of a log, and the time that a request waits for another request's call. */
const TIMEOUT_MS = 8_000;

/** The maximum number of messages that a queue accepts at once. */
const MESSAGES_PER_BATCH = 100;

/**
 * Milliseconds that a record waits for others, to be stored by the same call: a share event waits for the audit record of its
 * request, which is stored last.
 */
const GATHERING_MS: Record<LogKind, number> = { audit: 0, share: 10 };

/** The records of one company, by kind. */
type RecordsByKind = { [K in LogKind]: LogRecords[K][] };

interface RecordBatch {
  records: RecordsByKind;
  /** Settles once the records were handed over; undefined until a request begins to hand them over. */
  handOverPromise?: Promise<void>;
}

/** The records of this isolate that wait until the running call of their log ends, by company. */
const waitingBatches = new Map<string | null, RecordBatch>();
/** The running calls of logs, by company. */
const pendingCalls = new Map<string | null, Promise<void>>();

const countRecords = (records: RecordsByKind): number => LOG_KINDS.reduce((sum, kind) => sum + records[kind].length, 0);

/**
 * Stores a record in its company's log. Records that arrive together, or while a call of that log is under way, share one
 * call. Resolves when the record is stored: in the log, else in a queue, else in a file that the scheduled run delivers.
 * @throws if none of the three stores it
 */
export async function storeInLog<K extends LogKind>(env: Bindings, kind: K, record: LogRecords[K]): Promise<void> {
  const { companyId } = record;
  const batch = waitingBatches.get(companyId) ?? { records: { audit: [], share: [] } };
  waitingBatches.set(companyId, batch);
  batch.records[kind].push(record);
  if (countRecords(batch.records) < BATCH_SIZE) {
    const pendingCall = pendingCalls.get(companyId);
    await (pendingCall
      ? waitUntilSettled(pendingCall, TIMEOUT_MS)
      : new Promise((resolve) => setTimeout(resolve, GATHERING_MS[kind])));
  }
  if (!batch.handOverPromise) {
    if (waitingBatches.get(companyId) === batch) waitingBatches.delete(companyId);
    const handOverPromise = storeBatch(env, batch.records).finally(() => {
      if (pendingCalls.get(companyId) === handOverPromise) pendingCalls.delete(companyId);
    });
    batch.handOverPromise = handOverPromise;
    pendingCalls.set(companyId, handOverPromise);
  }
  // The request that hands them over may be cut off: then each request hands over its own record.
  if (!(await waitUntilSettled(batch.handOverPromise, 2 * TIMEOUT_MS))) {
    return storeBatch(env, { audit: [], share: [], [kind]: [record] });
  }
  await batch.handOverPromise;
}

/** Waits until a promise has settled, either way. @returns false where that takes too long */
async function waitUntilSettled(work: Promise<void>, timeoutMs: number): Promise<boolean> {
  const settledPromise = work.then(
    () => true,
    () => true,
  );
  return awaitWithinTime(timeoutMs, settledPromise).catch(() => false);
}

async function storeBatch(env: Bindings, records: RecordsByKind): Promise<void> {
  try {
    return await appendToLog(env, records);
  } catch (error) {
    logError('log_away', error, { records: countRecords(records) });
  }
  for (const kind of LOG_KINDS) await queueRecords(env, kind, records[kind]);
}

async function queueRecords<K extends LogKind>(env: Bindings, kind: K, records: readonly LogRecords[K][]) {
  if (records.length === 0) return;
  try {
    const queue: Queue = kind === 'audit' ? env.AUDIT : env.SHARE_EVENTS;
    for (let from = 0; from < records.length; from += MESSAGES_PER_BATCH) {
      await queue.sendBatch(records.slice(from, from + MESSAGES_PER_BATCH).map((body) => ({ body })));
    }
  } catch (error) {
    logError('log_queue_away', error, { kind, records: records.length });
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    await env.FILES.put(`undelivered/${kind}/${clock.now()}-${crypto.randomUUID()}.ndjson`, lines);
  }
}

/** Stores records of one company in its log, each once by its id. @throws where the log does not respond in time */
export async function appendToLog(env: Bindings, records: Partial<RecordsByKind>): Promise<void> {
  const { audit = [], share = [] } = records;
  const name = (audit[0] ?? share[0])?.companyId ?? PLATFORM_LOG;
  const recordsWithoutCompany = { audit: audit.map(removeCompanyId), share: share.map(removeCompanyId) };
  const { COMPANY_LOG } = limitToJurisdiction(env, readConfig(env).DATA_JURISDICTION);
  await awaitWithinTime(
    TIMEOUT_MS,
    callObject(COMPANY_LOG, name, async (log) => await log.appendAll(name, recordsWithoutCompany)),
  );
}

const removeCompanyId = ({ companyId: _, ...record }: LogRecords[LogKind]) => record as LogRecord;
