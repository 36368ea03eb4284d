import type { RunProblem } from '../../db/schema/schedules.ts';
import {
  composeSchedulePausedMail,
  type MailedProblem,
  type MailRequest,
  readMailedCompany,
  readRecipient,
  type SendingContext,
} from '../mails/service.ts';
import { readSchedule } from './store.ts';

const UNREPORTED_PROBLEMS: readonly RunProblem[] = [
  'condition_not_met',
  'files_too_large',
  'not_agreed',
  'too_many_mails',
  'quota_exceeded',
];

const isReported = (problem: RunProblem): problem is MailedProblem => !UNREPORTED_PROBLEMS.includes(problem);

/** Mails the maker of a schedule that it is paused, and why. */
export async function mailPausedSchedule(
  ctx: SendingContext,
  { companyId, email, about }: MailRequest<'schedule_paused'>,
): Promise<void> {
  const { user, company } = await readRecipient(ctx, { companyId, email });
  const schedule = await readSchedule(ctx.db, companyId, about ?? '');
  if (!user || !company || !schedule) return;
  await ctx.sendToMailService(
    companyId,
    composeSchedulePausedMail({
      to: email,
      name: user.name,
      company: await readMailedCompany(ctx, company),
      schedule: schedule.name,
      problems: schedule.lastRun?.problems.filter(isReported) ?? [],
    }),
  );
}
