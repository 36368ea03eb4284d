import { accessDenied } from '../../access/failures.ts';
import type { CompanyContext } from '../../context.ts';
import { commit } from '../../db/client.ts';
import type { Condition, RunProblem } from '../../db/schema/schedules.ts';
import { logError } from '../../platform/log.ts';
import { MailRefusedError } from '../../platform/mail.ts';
import { MAIL_TEXTS } from '../../texts/mails/languages.ts';
import { type Company, selectCompany } from '../companies/service.ts';
import {
  composeScheduledMail,
  type MailedCompany,
  readMailedCompany,
  toOutsiderSection,
  toOutsiderText,
} from '../mails/service.ts';
import type { SharedItem } from '../viewing/service.ts';
import type { Execution } from '../visualizations/service.ts';
import { evaluateCondition, hasOrderBy } from './condition.ts';
import { computeCountStart, readRefusalOrAskConsent } from './consent.ts';
import { attachFiles, type ScheduledMailContent, summarizeWidgets, toWidgets, type Widget } from './content.ts';
import { makeUnsubscribeUrl, makeViewUrl } from './links.ts';
import type { ResultReader } from './recipients.ts';
import {
  beginDelivery,
  type Delivery,
  endDelivery,
  insertOutcome,
  recordValue,
  type ScheduleRun,
  selectMailsLeft,
  subtractMailFromUse,
  undoDelivery,
} from './run-store.ts';
import type { Recipient, Schedule } from './store.ts';

/** The problems that count as failures of a delivery; other problems, such as a recipient who has left, are no failures. */
const DELIVERY_FAILURES: ReadonlySet<RunProblem> = new Set<RunProblem>([
  'target_deleted',
  'parameters',
  'query_failed',
  'condition_failed',
  'unavailable',
  'mail_refused',
  'unconfirmed',
]);

/** Makes the outcome of a delivery with a problem. */
export const toOutcome = (problem: RunProblem): Pick<Delivery, 'status' | 'problem'> => ({
  status: DELIVERY_FAILURES.has(problem) ? 'failed' : 'skipped',
  problem,
});

/**
 * Records that an address gets no mail of a run, because it has not consented or has reached its daily limit; for an
 * address that has ended all mails nothing is recorded. @returns false where nothing forbids the mail
 */
export async function recordRefusal(
  ctx: CompanyContext,
  run: ScheduleRun,
  schedule: Schedule,
  recipient: Recipient,
): Promise<boolean> {
  if (recipient.kind !== 'email') return false;
  const refusal = await readRefusalOrAskConsent(ctx, schedule, recipient.subject);
  if (refusal === undefined) return false;
  if (refusal !== 'ended') await insertOutcome(ctx.db, run, recipient, toOutcome(refusal));
  return true;
}

interface RunDelivery {
  run: ScheduleRun;
  schedule: Schedule;
  item: SharedItem;
  isLastTry: boolean;
}

type SendResult = 'done' | 'later' | 'suspended';

type GroupRecipient = { recipient: Recipient; reader: ResultReader };

/** A recipient for whom the condition holds, with the content of the mail. */
interface Mailing extends GroupRecipient {
  content: ScheduledMailContent;
  /** The value to compare with by the next run; null where the condition needs none. */
  comparedValue: string | null;
}

/**
 * Computes the results that these recipients share once, and mails them to each for whom the condition holds.
 * @returns `later` where the mail service did not accept some of the mails for now, `suspended` where the company is suspended
 * @throws where the database is unavailable
 */
export async function sendToRecipients(
  ctx: CompanyContext,
  runDelivery: RunDelivery,
  group: readonly GroupRecipient[],
): Promise<SendResult> {
  const [company] = await selectCompany(ctx.db, runDelivery.run.companyId);
  if (!company) return 'done';
  if (company.suspendedAt !== null) return 'suspended';
  const mailCompany = await readMailedCompany(ctx, company);
  const asOf = ctx.now();
  let isMailLeft = false;
  // The results themselves are not held while mails are sent.
  for (const mailing of await prepareMailings(ctx, runDelivery, group, mailCompany)) {
    const sendResult = await sendMail(ctx, runDelivery, mailing, { company, mailedCompany: mailCompany, asOf });
    if (sendResult === 'suspended') return 'suspended';
    isMailLeft ||= sendResult === 'later';
  }
  return isMailLeft ? 'later' : 'done';
}

async function prepareMailings(
  ctx: CompanyContext,
  runDelivery: RunDelivery,
  group: readonly GroupRecipient[],
  mailCompany: MailedCompany,
): Promise<Mailing[]> {
  const { run, schedule, item } = runDelivery;
  const [{ reader }] = group as [GroupRecipient];
  const widgets = toWidgets(item, await reader.view.run());
  const commonProblem = findProblem(widgets, schedule);
  const visibleWidgets = widgets.filter(({ execution }) => !isDenied(execution));
  const contents = new Map<string, ScheduledMailContent>();
  const mailings: Mailing[] = [];
  for (const member of group) {
    const { recipient } = member;
    const { problem, value } = commonProblem
      ? { problem: commonProblem, value: null }
      : await judgeCondition(schedule, widgets, recipient);
    if (problem) {
      await commit(ctx.db, {
        outcome: insertOutcome(ctx.db, run, recipient, toOutcome(problem)),
        value: value === null ? [] : [recordValue(ctx.db, schedule, recipient, value)],
      });
      continue;
    }
    const { mayGetFiles } = member.reader;
    const isOutsider = recipient.kind === 'email';
    const key = `${mayGetFiles} ${isOutsider}`;
    const content =
      contents.get(key) ??
      (await buildContent(ctx, runDelivery, visibleWidgets, mailCompany, { mayGetFiles, isOutsider }));
    contents.set(key, content);
    mailings.push({ ...member, content, comparedValue: value });
  }
  return mailings;
}

/** Tells whether the recipients are denied a visualization: the mail then does not mention the visualization. */
const isDenied = (execution: Execution): boolean => 'failure' in execution && accessDenied.matches(execution.failure);

/** Returns the problem for which these results cannot be sent; undefined if there is none. @throws where a retry may help */
function findProblem(widgets: readonly Widget[], { condition }: Schedule): RunProblem | undefined {
  const failures = widgets.flatMap(({ execution }) => ('failure' in execution ? [execution.failure] : []));
  const unavailableFailure = failures.find(({ kind }) => kind === 'unavailable');
  if (unavailableFailure) throw unavailableFailure;
  if (widgets.length > 0 && failures.length === widgets.length) {
    return failures.every(({ kind }) => kind === 'forbidden') ? 'not_allowed' : 'query_failed';
  }
  if (condition === null) return undefined;
  const execution = findWidget(condition, widgets)?.execution;
  if (!execution) return 'condition_failed';
  if (!('failure' in execution)) return undefined;
  return execution.failure.kind === 'forbidden' ? 'not_allowed' : 'condition_failed';
}

/** Returns the widget that the condition is judged on. */
const findWidget = (condition: Condition, widgets: readonly Widget[]): Widget | undefined =>
  widgets.find(({ visualization }) => visualization.id === condition.visualization_id);

/**
 * Judges the condition on the results that a recipient may see. @returns the reason why nothing is sent, if the condition is not
 * met or cannot be judged, and the value to compare with next time
 */
async function judgeCondition(
  { condition, recipients }: Schedule,
  widgets: readonly Widget[],
  { kind, subject }: Recipient,
): Promise<{ problem?: RunProblem; value: string | null }> {
  if (condition === null) return { value: null };
  const widget = findWidget(condition, widgets);
  if (!widget || 'failure' in widget.execution) return { problem: 'condition_failed', value: null };
  const storedRecipient = recipients.find((recipient) => recipient.kind === kind && recipient.subject === subject);
  const verdict = await evaluateCondition(
    condition,
    widget.execution.result,
    storedRecipient?.lastValue ?? null,
    hasOrderBy(widget.visualization.sql),
  );
  if (verdict === 'undecidable') return { problem: 'condition_failed', value: null };
  return verdict.isMet ? { value: verdict.value } : { problem: 'condition_not_met', value: verdict.value };
}

/**
 * Builds the content of a mail: the summary, or files for a recipient who may have them; for outsiders without web addresses,
 * which users of the company could insert as links.
 */
async function buildContent(
  ctx: CompanyContext,
  { schedule: { format }, item }: RunDelivery,
  widgets: readonly Widget[],
  { locale }: MailedCompany,
  { mayGetFiles, isOutsider }: { mayGetFiles: boolean; isOutsider: boolean },
): Promise<ScheduledMailContent> {
  const namedWidgets = widgets.map(({ visualization, execution }) => {
    const { name } = visualization;
    return { visualization: { ...visualization, name: isOutsider ? toOutsiderText(name) : name }, execution };
  });
  const content =
    format !== 'summary' && mayGetFiles
      ? await attachFiles(item, namedWidgets, format, { locale, maxBytes: ctx.mailer.maxFileBytes })
      : summarizeWidgets(namedWidgets, locale);
  if (format !== 'summary' && !mayGetFiles) content.notes.push(MAIL_TEXTS[locale].schedule.noFiles);
  return isOutsider ? { ...content, sections: content.sections.map(toOutsiderSection) } : content;
}

/** Sends one mail, at most once: its record is made before, and deleted only where the mail service did not accept the mail. */
async function sendMail(
  ctx: CompanyContext,
  { run, schedule, isLastTry }: RunDelivery,
  { recipient, reader, content, comparedValue: value }: Mailing,
  { company, mailedCompany, asOf }: { company: Company; mailedCompany: MailedCompany; asOf: number },
): Promise<SendResult> {
  const mail = composeScheduledMail({
    to: reader.email,
    name: reader.name,
    company: mailedCompany,
    schedule: { name: schedule.name, timeZone: schedule.timeZone, isAlert: schedule.condition !== null },
    asOf,
    ...content,
    viewUrl: makeViewUrl(ctx, company, schedule, recipient),
    unsubscribeUrl: await makeUnsubscribeUrl(ctx, schedule, recipient),
  });
  const countingTimes = { now: ctx.now(), since: computeCountStart(ctx) };
  const { begun } = await commit(ctx.db, beginDelivery(ctx.db, run, recipient, countingTimes));
  if (begun.length === 0) {
    const [present] = await selectCompany(ctx.db, run.companyId);
    if (present?.suspendedAt != null) return 'suspended';
    const isRefused = await recordRefusal(ctx, run, schedule, recipient);
    const [mails] = isRefused ? [] : await selectMailsLeft(ctx.db, run, countingTimes.now);
    if (mails?.isLeft === 0) await insertOutcome(ctx.db, run, recipient, toOutcome('quota_exceeded'));
    return 'done';
  }
  try {
    await ctx.mailer.send(mail);
  } catch (error) {
    logError('schedule_mail_failed', error, { schedule_id: schedule.id, company_id: schedule.companyId });
    const isMailRefused = error instanceof MailRefusedError;
    if (isMailRefused && !error.isPermanent && !isLastTry) {
      await commit(ctx.db, undoDelivery(ctx.db, run, recipient, countingTimes.now));
      return 'later';
    }
    await commit(ctx.db, {
      ended: endDelivery(ctx.db, run, recipient, toOutcome(isMailRefused ? 'mail_refused' : 'unconfirmed')),
      used: isMailRefused ? [subtractMailFromUse(ctx.db, run, countingTimes.now)] : [],
    });
    return 'done';
  }
  await commit(ctx.db, {
    sent: endDelivery(ctx.db, run, recipient, {
      status: 'sent',
      problem: content.tooLargeText ? 'files_too_large' : null,
    }),
    value: value === null ? [] : [recordValue(ctx.db, schedule, recipient, value)],
  });
  return 'done';
}
