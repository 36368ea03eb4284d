import { z } from 'zod';
import { QUOTAS, type Quota, type Quotas } from '../../db/schema/companies.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { invalidInput } from '../../kernel/failure.ts';
import type { DayUsage } from './usage.ts';

const quota = z.int().nonnegative().nullable();
const quotas = z.object({
  users: quota.meta({ description: 'Users, the invited ones included.' }),
  table_bytes: quota.meta({ description: 'Bytes of living tables with their indexes.' }),
  file_bytes: quota.meta({ description: 'Bytes of uploaded files, which are kept for a day after their job.' }),
  mails_per_day: quota.meta({ description: 'Emails that are handed over on a day (UTC).' }),
  model_calls_per_day: quota.meta({ description: 'Calls of an AI model on a day (UTC).' }),
} satisfies Record<Quota, z.ZodType>);

/** The response with the quotas of a company; null for no limit. */
export const quotasView = quotas.meta({ id: 'OrganizationQuotas' });

/** The schema of all quotas; a quota that is null or not sent has no limit. */
export const quotasInput = quotas.partial().transform((sentQuotas): Quotas => {
  const setQuotas = QUOTAS.flatMap((name) => (sentQuotas[name] == null ? [] : [[name, sentQuotas[name]]]));
  return Object.fromEntries(setQuotas);
});

export const viewQuotas = (quotas: Quotas): z.input<typeof quotasView> =>
  Object.fromEntries(QUOTAS.map((name) => [name, quotas[name] ?? null])) as z.input<typeof quotasView>;

const date = z.iso.date();

export const daysQuery = z.object({
  from: date.optional().meta({ description: 'The first day (UTC), included; 29 days before `to` when not sent.' }),
  to: date.optional().meta({ description: 'The last day, included; today when not sent.' }),
});

/** The maximum number of days in one response. */
const MAX_USAGE_DAYS = 366;

/** Returns the requested days, by their beginnings in milliseconds. @throws where the range is empty, or too long */
export function requireDayRange(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  now: number,
): { from: number; to: number } {
  const lastDay = to === undefined ? Math.floor(now / DAY_MS) * DAY_MS : Date.parse(to);
  const firstDay = from === undefined ? lastDay - 29 * DAY_MS : Date.parse(from);
  const makeProblem = (message: string) => invalidInput([{ field: 'from', message }]);
  if (firstDay > lastDay) throw makeProblem('must not be after `to`');
  if (lastDay - firstDay >= MAX_USAGE_DAYS * DAY_MS)
    throw makeProblem(`must be at most ${MAX_USAGE_DAYS - 1} days before \`to\``);
  return { from: firstDay, to: lastDay };
}

export const USAGE_DESCRIPTION = `Each day (UTC), days without use too, at most ${MAX_USAGE_DAYS}; exact once a day has ended. \`requests\` are those of known callers that were let in, \`executions\` statements of people’s SQL that were run, \`rows_loaded\` rows that upload jobs loaded, \`mails\` those handed over, \`model_calls\` calls of an AI model, repeated ones too.`;

export const usageView = z
  .object({
    days: z.array(
      z.object({
        date,
        requests: z.int(),
        executions: z.int(),
        rows_loaded: z.int(),
        mails: z.int(),
        model_calls: z.int(),
      }),
    ),
  })
  .meta({ id: 'Usage' });

export const viewUsage = (days: readonly DayUsage[]): z.input<typeof usageView> => ({
  days: days.map(({ rowsLoaded, modelCalls, ...day }) => ({
    ...day,
    rows_loaded: rowsLoaded,
    model_calls: modelCalls,
  })),
});
