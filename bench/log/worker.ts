import { type LogFilter, toRange } from '../../src/logs/log.ts';
import { countRecordsInRange } from '../../src/logs/rows.ts';
import { exportLog, type LogReader, readLog } from '../../src/modules/company-log/service.ts';
import { CompanyLog } from '../../src/objects/company-log.ts';
import { fillDay } from './records.ts';

// What wrangler.toml names has to be there.
export * from '../../src/api.ts';

const COMPANY = 'bench';

/** Company log of the product, with methods that start moving records to R2 and return the log's size. */
export class BenchLog extends CompanyLog {
  /** Runs the alarm at once. */
  async move(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Returns the number of records that are still in the Durable Object, and the bytes of its database. */
  left(): { records: number; bytes: number } {
    const { sql } = this.ctx.storage;
    return { records: countRecordsInRange(sql, 'audit', toRange({})), bytes: sql.databaseSize };
  }
}

interface Bindings {
  COMPANY_LOG: DurableObjectNamespace<BenchLog>;
  FILES: R2Bucket;
}

const commands: Record<string, (env: Bindings, query: URLSearchParams) => Promise<unknown>> = {
  async append({ COMPANY_LOG }, query) {
    const [daysAgo, from, count] = ['day', 'from', 'count'].map((name) => Number(query.get(name))) as [
      number,
      number,
      number,
    ];
    return fillDay(COMPANY_LOG.getByName(COMPANY), COMPANY, { daysAgo, firstNumber: from, count });
  },
  async move({ COMPANY_LOG }) {
    await COMPANY_LOG.getByName(COMPANY).move();
  },
  left: async ({ COMPANY_LOG }) => COMPANY_LOG.getByName(COMPANY).left(),
  async list(env, query) {
    const { page, perPage, ...filter } = JSON.parse(query.get('query') ?? '') as LogFilter & {
      page: number;
      perPage: number;
    };
    const { total, records } = await readLog(createReader(env), 'audit', filter, page, perPage);
    return { total, records: records.length };
  },
  async export(env) {
    let count = 0;
    for await (const _ of exportLog(createReader(env), 'audit', { values: {} })) count += 1;
    return count;
  },
};

const createReader = (env: Bindings): LogReader =>
  ({ actor: { companyId: COMPANY }, bindings: env, files: env.FILES }) as unknown as LogReader;

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    return Response.json((await commands[pathname.slice(1)]?.(env, searchParams)) ?? null);
  },
};
