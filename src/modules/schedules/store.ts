import { and, eq, getTableColumns, inArray, isNotNull, not, notInArray, or, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../db/client.ts';
import { isNotDenied } from '../../db/denials.ts';
import { readPage } from '../../db/page.ts';
import { dashboards } from '../../db/schema/dashboards.ts';
import { mailConsents, scheduleRecipients, schedules } from '../../db/schema/schedules.ts';
import { visualizations } from '../../db/schema/visualizations.ts';
import { makeContainsSql } from '../../db/search.ts';
import { existsSql, insertWhen, makeIdListSql, matchesId } from '../../db/statements.ts';
import type { Denials } from '../../permissions/denials.ts';
import type { TargetType } from '../../sharing/share-event.ts';

type ScheduleRow = typeof schedules.$inferSelect;
type ScheduleUpdate = Omit<ScheduleRow, 'nextRunAt'> & { nextRunAt: ScheduleRow['nextRunAt'] | undefined };

/** The recipient of a schedule: a user by id, or an outside address, in lower case. */
export interface Recipient {
  kind: 'user' | 'email';
  subject: string;
}

export type RecipientState = Recipient & Pick<typeof scheduleRecipients.$inferSelect, 'unsubscribedAt' | 'lastValue'>;

export type Schedule = ScheduleRow & { recipients: RecipientState[] };

/** The dashboard or visualization that a schedule sends. */
export type Target = Pick<ScheduleRow, 'targetType' | 'targetId'>;

const TARGET_TABLES = { dashboard: dashboards, visualization: visualizations } as const;

const targetExists = ({ companyId, targetType, targetId }: Target & { companyId: string }): SQL =>
  existsSql(TARGET_TABLES[targetType], matchesId(TARGET_TABLES[targetType], companyId, targetId));

/** Inserts a schedule while its target exists and the company has fewer than `maxSchedules` schedules. */
export const insertSchedule = (db: ControlDb, record: ScheduleRow, maxSchedules: number) =>
  insertWhen(
    db,
    schedules,
    record,
    and(
      targetExists(record),
      sql`(select count(*) from ${schedules} where company_id = ${record.companyId}) < ${maxSchedules}`,
    ) as SQL,
  ).returning();

/**
 * Updates what people set, if the schedule is still the version that was read and its target exists. Its next run stays
 * unchanged where none is given.
 */
export const updateSchedule = (db: ControlDb, scheduleUpdate: ScheduleUpdate) => {
  const { id, companyId, version, lastRun: _lastRun, ...rest } = scheduleUpdate;
  return db
    .update(schedules)
    .set({ ...rest, version: version + 1 })
    .where(and(matchesId(schedules, companyId, id), eq(schedules.version, version), targetExists(scheduleUpdate)))
    .returning();
};

/** The position of an address that has unsubscribed and was taken off the recipient list. */
const REMOVED_POSITION = -1;

/**
 * Prepares statements that replace the recipients, for the batch that writes the schedule: after the insert, before the update,
 * whose conditions they share (a concurrent change's next version has the same number). Recipients who stay keep whether they are
 * unsubscribed; addresses keep it for good, also while they are off the list. @param mustResetValues whether the condition or
 * target was changed, so that there is no value to compare with
 */
export function replaceRecipients(
  db: ControlDb,
  scheduleUpdate: ScheduleUpdate,
  recipients: readonly Recipient[],
  mustResetValues: boolean,
) {
  const { companyId, id, version } = scheduleUpdate;
  const isPresent = existsSql(schedules, matchesId(schedules, companyId, id), eq(schedules.version, version));
  const condition = and(isPresent, targetExists(scheduleUpdate)) as SQL;
  const recipientsJson = JSON.stringify(recipients);
  const isRemovedRecipient = and(
    eq(scheduleRecipients.companyId, companyId),
    eq(scheduleRecipients.scheduleId, id),
    condition,
    notInArray(
      sql`${scheduleRecipients.kind} || ':' || ${scheduleRecipients.subject}`,
      sql`(select value ->> 'kind' || ':' || (value ->> 'subject') from json_each(${recipientsJson}))`,
    ),
  );
  const isUnsubscribedAddress = and(
    eq(scheduleRecipients.kind, 'email'),
    isNotNull(scheduleRecipients.unsubscribedAt),
  ) as SQL;
  return [
    db.delete(scheduleRecipients).where(and(isRemovedRecipient, not(isUnsubscribedAddress))),
    db.update(scheduleRecipients).set({ position: REMOVED_POSITION }).where(isRemovedRecipient),
    db
      .insert(scheduleRecipients)
      .select(
        sql`select ${companyId}, ${id}, value ->> 'kind', value ->> 'subject', key, null, null from json_each(${recipientsJson}) where ${condition}`,
      )
      .onConflictDoUpdate({
        target: [scheduleRecipients.scheduleId, scheduleRecipients.kind, scheduleRecipients.subject],
        set: {
          position: sql`excluded.position`,
          lastValue: mustResetValues ? null : sql`${scheduleRecipients.lastValue}`,
        },
      }),
  ] as const;
}

/** Makes the SQL condition that selects the row of one recipient. */
export const isRecipient = (companyId: string, scheduleId: string, { kind, subject }: Recipient): SQL =>
  and(
    eq(scheduleRecipients.companyId, companyId),
    eq(scheduleRecipients.scheduleId, scheduleId),
    eq(scheduleRecipients.kind, kind),
    eq(scheduleRecipients.subject, subject),
  ) as SQL;

const EXTRA_COLUMNS = {
  recipients: sql<RecipientState[]>`(select json_group_array(json_object('kind', kind, 'subject', subject,
    'unsubscribedAt', coalesce(unsubscribed_at, (select ended_at from ${mailConsents} where kind = 'email' and email = subject
      and mail_consents.company_id = schedule_recipients.company_id)), 'lastValue', last_value) order by position)
    from ${scheduleRecipients} where schedule_recipients.schedule_id = schedules.id and position <> ${REMOVED_POSITION})`
    .mapWith((text: string) => JSON.parse(text) as RecipientState[])
    .as('recipients'),
};

/** Reads the schedule of an id; undefined if there is none. */
export async function readSchedule(db: ControlDb, companyId: string, id: string): Promise<Schedule | undefined> {
  const [schedule] = await db
    .select({ ...getTableColumns(schedules), ...EXTRA_COLUMNS })
    .from(schedules)
    .where(matchesId(schedules, companyId, id));
  return schedule;
}

/**
 * Reads a page of the company's schedules, the newest first. `search` is a lower-case part of the name. @param targets for each
 * type the allowed targets: all, or only these; and which of them are denied
 */
export const readSchedules = (
  db: ControlDb,
  companyId: string,
  { search, page, perPage }: { search: string; page: number; perPage: number },
  targets: Record<TargetType, { ids: 'all' | readonly string[]; denials: Denials }>,
) => {
  const makeTypeFilter = (type: TargetType) => {
    const { ids, denials } = targets[type];
    return and(
      eq(schedules.targetType, type),
      ids === 'all' ? undefined : inArray(schedules.targetId, makeIdListSql(ids)),
      isNotDenied(schedules.targetId, denials),
    );
  };
  const filter = and(
    eq(schedules.companyId, companyId),
    or(makeTypeFilter('dashboard'), makeTypeFilter('visualization')),
    makeContainsSql([schedules.name], search),
  ) as SQL;
  return readPage(
    db,
    { table: schedules, filter, extra: EXTRA_COLUMNS },
    { by: schedules.createdAt, descending: true, page, perPage },
  );
};

/** Selects the targets of the company's schedules, each once. */
export const selectTargets = (db: ControlDb, companyId: string) =>
  db
    .selectDistinct({ targetType: schedules.targetType, targetId: schedules.targetId })
    .from(schedules)
    .where(eq(schedules.companyId, companyId));

export const countSchedules = (db: ControlDb, companyId: string) =>
  db.select({ count: sql<number>`count(*)` }).from(schedules).where(eq(schedules.companyId, companyId));

/** Deletes a schedule, and with it its recipients and runs. */
export const deleteSchedule = (db: ControlDb, companyId: string, id: string) =>
  db
    .delete(schedules)
    .where(matchesId(schedules, companyId, id))
    .returning({ id: schedules.id });

export const selectRecipients = (db: ControlDb, companyId: string, id: string) =>
  db
    .select({ kind: scheduleRecipients.kind, subject: scheduleRecipients.subject })
    .from(scheduleRecipients)
    .where(and(eq(scheduleRecipients.companyId, companyId), eq(scheduleRecipients.scheduleId, id)));

/** Records that a recipient has unsubscribed from a schedule. */
export const unsubscribeRecipient = (db: ControlDb, companyId: string, id: string, recipient: Recipient, now: number) =>
  db
    .update(scheduleRecipients)
    .set({ unsubscribedAt: now })
    .where(isRecipient(companyId, id, recipient));
