import type { Context } from '../../context.ts';
import type { RunProblem } from '../../db/schema/schedules.ts';
import {
  type MailRequest,
  mailedCompany,
  readRecipient,
  schedulePausedMail,
  type ToldProblem,
} from '../mails/service.ts';
import { readSchedule } from './store.ts';

const isTold = (problem: RunProblem): problem is ToldProblem =>
  problem !== 'condition_not_met' && problem !== 'files_too_large';

/** Tells the maker of a schedule that it is paused, and why. */
export async function mailPaused(
  ctx: Context,
  { companyId, email, about }: MailRequest<'schedule_paused'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  const schedule = await readSchedule(ctx.db, companyId, about ?? '');
  if (!user || !company || !schedule) return;
  await ctx.mailer.send(
    schedulePausedMail({
      to: email,
      name: user.name,
      company: await mailedCompany(ctx, company),
      schedule: schedule.name,
      problems: schedule.lastRun?.problems.filter(isTold) ?? [],
    }),
  );
}
