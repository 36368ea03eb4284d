import { setTimeout as sleep } from 'node:timers/promises';
import type { System } from '../../bench/system.ts';
import { type AcceptedMail, MAIL_DOMAIN, MAIL_KEY, startMailService } from '../support/mail-provider.ts';
import type { MemoryCase } from './case.ts';

const mailService = startMailService();

/** Starts using a mail service with Resend's API, and returns its environment variables. */
export const createResendVariables = async (): Promise<Record<string, string>> => ({
  MAIL_PROVIDER: 'resend',
  MAIL_API_URL: (await mailService).url,
  MAIL_API_KEY: MAIL_KEY,
  MAIL_FROM: `no-reply@${MAIL_DOMAIN}`,
});

export const stopMailService = async (): Promise<void> => (await mailService).close();

/** Has a dashboard mailed by a new schedule. */
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
  for (let pollCount = 0; pollCount < 300; pollCount += 1) {
    const { last_run: run } = await system.call('GET', `/v1/schedules/${_id}`);
    if (run?.sent === 1) return;
    if (run) throw new Error(`The run ended so: ${JSON.stringify(run)}`);
    await sleep(200);
  }
  throw new Error('The run did not end.');
}

/** SQL for a text of 960 characters per row that a workbook can hardly compress. */
const TEXT_SQL = `(SELECT string_agg(md5(n::text || '-' || k), '') FROM generate_series(1, 30) AS k)`;

const MIB_BYTES = 1024 * 1024;

/** Makes two charts with some 20 MiB of results: one as CSV, or both as XLSX, nearly reach the mail limit of Resend. */
function makeAttachmentCase(format: 'csv' | 'xlsx', rowCount: number): MemoryCase {
  let dashboard: string;
  return {
    name: `mailed by Resend with 10 MiB of ${format}`,
    mailer: 'resend',
    prepare: async ({ call }) => {
      const layout = [];
      for (const n of [0, 1]) {
        const sql = `SELECT n, ${TEXT_SQL} AS texto FROM generate_series(1, ${rowCount}) AS n -- ${n}`;
        const { _id } = await call('POST', '/v1/visualizations', { name: `Anexo ${n}`, sql });
        layout.push({ visualization_id: _id, x: 0, y: n, w: 1, h: 1 });
      }
      dashboard = (await call('POST', '/v1/dashboards', { name: 'Anexos', layout, cache_seconds: 0 }))._id;
    },
    run: async (system) => {
      await sendMail(system, dashboard, format);
      const acceptedMails = (await (await fetch(`${(await mailService).url}/taken`)).json()) as AcceptedMail[];
      const files = acceptedMails.at(-1)?.attachments?.filter(({ filename }) => filename.endsWith(format)) ?? [];
      const bytes = files.reduce((sum, { content }) => sum + (content.length / 4) * 3, 0);
      if (bytes < 9 * MIB_BYTES) throw new Error(`a mail had ${bytes} bytes of files`);
    },
  };
}

export const MAIL_CASES: MemoryCase[] = [makeAttachmentCase('csv', 10_000), makeAttachmentCase('xlsx', 9_000)];
