import { type Bindings, configOf } from '../../config.ts';
import { clock } from '../../kernel/clock.ts';
import { type Logged, type LogKind, type LogRecords, PLATFORM_LOG } from '../../kernel/log.ts';
import { withinJurisdiction } from '../../objects/jurisdiction.ts';
import { withinTime } from '../../platform/concurrency.ts';
import { logError } from '../../platform/log.ts';
import { callObject } from '../../platform/objects.ts';

/** Records that are handed over at once, even while a call of the log is under way. */
const BATCH_SIZE = 100;

/** How long a log may take to answer, and a request waits for the call of another one. */
const PATIENCE_MS = 8_000;

/** A queue takes no more at once. */
const MESSAGES_AT_ONCE = 100;

interface Batch {
  records: unknown[];
  /** Set once a request hands them over. */
  handedOver?: Promise<void>;
}

/** The records of this isolate that wait for the call under way, and that call, by kind and company. */
const gathered = new Map<string, Batch>();
const underWay = new Map<string, Promise<void>>();

/**
 * Keeps a record in the log of its company. Records that come while a call of that log is under way are handed over together
 * after it. When this resolves, the record is stored: in the log, or, while that is away, in a queue, or, while that is away too, in a
 * file that the scheduled run delivers.
 * @throws if none of the three stores it
 */
export async function keepInLog<K extends LogKind>(env: Bindings, kind: K, record: LogRecords[K]): Promise<void> {
  const place = `${kind} ${record.companyId}`;
  const batch = gathered.get(place) ?? { records: [] };
  gathered.set(place, batch);
  batch.records.push(record);
  const before = underWay.get(place);
  if (before && batch.records.length < BATCH_SIZE) await endOf(before, PATIENCE_MS);
  if (!batch.handedOver) {
    if (gathered.get(place) === batch) gathered.delete(place);
    const handedOver = handOver(env, kind, batch.records as LogRecords[K][]).finally(() => {
      if (underWay.get(place) === handedOver) underWay.delete(place);
    });
    batch.handedOver = handedOver;
    underWay.set(place, handedOver);
  }
  // The request that hands them over may be cut off: then each request hands over its own record.
  if (!(await endOf(batch.handedOver, 2 * PATIENCE_MS))) return handOver(env, kind, [record]);
  await batch.handedOver;
}

/** Waits until something has ended, well or not. @returns false where that takes too long */
async function endOf(work: Promise<void>, patience: number): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  );
  return withinTime(patience, ended).catch(() => false);
}

async function handOver<K extends LogKind>(env: Bindings, kind: K, records: LogRecords[K][]): Promise<void> {
  const facts = { kind, records: records.length };
  try {
    return await appendToLog(env, kind, records);
  } catch (error) {
    logError('log_away', error, facts);
  }
  try {
    const queue: Queue = kind === 'audit' ? env.AUDIT : env.SHARE_EVENTS;
    for (let from = 0; from < records.length; from += MESSAGES_AT_ONCE) {
      await queue.sendBatch(records.slice(from, from + MESSAGES_AT_ONCE).map((body) => ({ body })));
    }
  } catch (error) {
    logError('log_queue_away', error, facts);
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    await env.FILES.put(`undelivered/${kind}/${clock.now()}-${crypto.randomUUID()}.ndjson`, lines);
  }
}

/** Keeps records of one company in its log, each once by its id. @throws where the log does not answer in time */
export async function appendToLog<K extends LogKind>(
  env: Bindings,
  kind: K,
  records: readonly LogRecords[K][],
): Promise<void> {
  const name = records[0]?.companyId ?? PLATFORM_LOG;
  const logged = records.map(({ companyId: _, ...record }) => record as Logged);
  const { COMPANY_LOG } = withinJurisdiction(env, configOf(env).DATA_JURISDICTION);
  await withinTime(
    PATIENCE_MS,
    callObject(COMPANY_LOG, name, async (log) => await log.append(name, kind, logged)),
  );
}
