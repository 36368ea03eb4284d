import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../../bench/system.ts';
import { type AcceptedMail, MAIL_DOMAIN, MAIL_KEY, startMailService } from '../support/mail-provider.ts';
import type { Case } from './case.ts';

const mailService = startMailService();

/** Variables that have mails sent by a service like Resend's. */
export const useResend = async (): Promise<Record<string, string>> => ({
  MAIL_PROVIDER: 'resend',
  MAIL_API_URL: (await mailService).url,
  MAIL_API_KEY: MAIL_KEY,
  MAIL_FROM: `no-reply@${MAIL_DOMAIN}`,
});

export const stopMails = async (): Promise<void> => (await mailService).close();

/** Has a dashboard mailed by a schedule of its own. */
export async function sendMail(system: System, dashboard: string | undefined, format: string): Promise<void> {
  const { user } = await system.call('GET', '/v1/auth/me');
  const recipients = [{ user_id: user._id }];
  const target = { target_type: 'dashboard', target_id: dashboard };
  const { _id } = await system.call('POST', '/v1/schedules', {
    ...target,
    name: 'Mailed',
    cron: '0 8 * * *',
    recipients,
    format,
  });
  await system.call('POST', `/v1/schedules/${_id}/run`);
  for (let tries = 0; tries < 300; tries += 1) {
    const { last_run: run } = await system.call('GET', `/v1/schedules/${_id}`);
    if (run?.sent === 1) return;
    if (run) throw new Error(`The run ended so: ${JSON.stringify(run)}`);
    await sleep(200);
  }
  throw new Error('The run did not end.');
}

/** Text that a workbook cannot make much smaller: 960 characters a row. */
const TEXT = `(SELECT string_agg(md5(n::text || '-' || k), '') FROM generate_series(1, 30) AS k)`;

const MIB = 1024 * 1024;

/** Two charts, whose results have some 20 MiB together: one as CSV, or both as XLSX, are about what a mail by Resend may have. */
function attached(format: 'csv' | 'xlsx', rows: number): Case {
  let dashboard: string;
  return {
    name: `mailed by Resend with 10 MiB of ${format}`,
    mailer: 'resend',
    prepare: async ({ call }) => {
      const layout = [];
      for (const n of [0, 1]) {
        const sql = `SELECT n, ${TEXT} AS texto FROM generate_series(1, ${rows}) AS n -- ${n}`;
        const { _id } = await call('POST', '/v1/visualizations', { name: `Anexo ${n}`, sql });
        layout.push({ visualization_id: _id, x: 0, y: n, w: 1, h: 1 });
      }
      dashboard = (await call('POST', '/v1/dashboards', { name: 'Anexos', layout, cache_seconds: 0 }))._id;
    },
    run: async (system) => {
      await sendMail(system, dashboard, format);
      const taken = (await (await fetch(`${(await mailService).url}/taken`)).json()) as AcceptedMail[];
      const files = taken.at(-1)?.attachments?.filter(({ filename }) => filename.endsWith(format)) ?? [];
      const bytes = files.reduce((sum, { content }) => sum + (content.length / 4) * 3, 0);
      if (bytes < 9 * MIB) throw new Error(`a mail had ${bytes} bytes of files`);
    },
  };
}

export const MAILS: Case[] = [attached('csv', 10_000), attached('xlsx', 9_000)];
