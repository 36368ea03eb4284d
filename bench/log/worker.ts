import { clock } from '../../src/kernel/clock.ts';
import { DAY_MS, type LogFilter, type Logged, rangeOf } from '../../src/kernel/log.ts';
import { countIn } from '../../src/logs/rows.ts';
import { exportLog, type LogReader, readLog } from '../../src/modules/company-log/service.ts';
import { CompanyLog } from '../../src/objects/company-log.ts';

// What wrangler.toml names has to be there.
export * from '../../src/index.ts';

const COMPANY = 'bench';
/** Records of one call of the object. */
const AT_ONCE = 2000;

/** The log of the product, with its moving and its size at hand. */
export class BenchLog extends CompanyLog {
  /** Has the alarm come now. */
  async move(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Records that are still in the object, and its size. */
  left(): { records: number; bytes: number } {
    const { sql } = this.ctx.storage;
    return { records: countIn(sql, 'audit', rangeOf({})), bytes: sql.databaseSize };
  }
}

interface Bindings {
  COMPANY_LOG: DurableObjectNamespace<BenchLog>;
  FILES: R2Bucket;
}

/** Of a thousand people, forty actions, and each request its own. */
const aRecord = (occurredAt: number, n: number): Logged<'audit'> => ({
  id: Math.floor(occurredAt / 1000).toString(16) + n.toString(16).padStart(16, '0'),
  correlationId: `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`,
  occurredAt,
  principalType: 'user',
  principalId: (n % 1000).toString(16).padStart(24, '0'),
  credential: (n % 1000).toString(16).padStart(24, '0'),
  method: 'GET',
  route: '/v1/managed-tables/{id}/rows',
  action: `managed-tables:action-${n % 40}`,
  resourceId: (n % 5000).toString(16).padStart(24, '0'),
  status: 200,
  ip: '203.0.113.1',
  durationMs: n % 300,
  count: 1,
});

const commands: Record<string, (env: Bindings, query: URLSearchParams) => Promise<unknown>> = {
  async append({ COMPANY_LOG }, query) {
    const [day, from, count] = ['day', 'from', 'count'].map((name) => Number(query.get(name))) as [
      number,
      number,
      number,
    ];
    const start = Math.floor(clock.now() / DAY_MS - day) * DAY_MS;
    const log = COMPANY_LOG.getByName(COMPANY);
    let written = 0;
    for (let n = 0; n < count; n += AT_ONCE) {
      const records = Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, m) =>
        aRecord(start + Math.floor(((n + m) / count) * DAY_MS), from + n + m),
      );
      written += await log.append(COMPANY, 'audit', records);
    }
    return written;
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
    const { total, records } = await readLog(readerOf(env), 'audit', filter, page, perPage);
    return { total, records: records.length };
  },
  async export(env) {
    let count = 0;
    for await (const _ of exportLog(readerOf(env), 'audit', { values: {} })) count += 1;
    return count;
  },
};

const readerOf = (env: Bindings): LogReader =>
  ({ actor: { companyId: COMPANY }, bindings: env, files: env.FILES }) as unknown as LogReader;

export default {
  async fetch(request: Request, env: Bindings): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    return Response.json((await commands[pathname.slice(1)]?.(env, searchParams)) ?? null);
  },
};
