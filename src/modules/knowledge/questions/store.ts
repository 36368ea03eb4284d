import { and, asc, eq, gt, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type QuestionStatus, verifiedQuestions as questions } from '../../../db/schema/knowledge-questions.ts';
import { existsSql, insertWhen, matchesId } from '../../../db/statements.ts';
import type { Denials } from '../../../permissions/denials.ts';

export type QuestionRow = typeof questions.$inferSelect;

/** The maximum number of questions of a company, not counting archived ones. */
export const MAX_QUESTIONS = 1000;

const isUnarchived = (companyId: string): SQL =>
  and(eq(questions.companyId, companyId), ne(questions.status, 'archived')) as SQL;

/** Returns the SQL condition that the company may store one more question. */
const hasQuotaLeft = (companyId: string): SQL =>
  sql`(select count(*) from ${questions} where ${isUnarchived(companyId)}) < ${MAX_QUESTIONS}`;

/** Returns the SQL condition that the company has a question that must be checked when something changes. */
export const hasQuestions = (companyId: string): SQL => existsSql(questions, isUnarchived(companyId));

/** Selects a question to check again when items or tables change, if the company has one. */
export const selectAnyQuestion = (db: ControlDb, companyId: string) =>
  db.select({ id: questions.id }).from(questions).where(isUnarchived(companyId)).limit(1);

export const selectQuestion = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(questions)
    .where(matchesId(questions, companyId, id));

/** Selects the question of a key unless it is archived. */
export const selectQuestionByKey = (db: ControlDb, companyId: string, key: string) =>
  db
    .select()
    .from(questions)
    .where(and(isUnarchived(companyId), eq(questions.questionKey, key)));

/** Inserts a question, if the company's quota allows it. */
export const insertQuestion = (db: ControlDb, row: QuestionRow) =>
  insertWhen(db, questions, row, hasQuotaLeft(row.companyId)).returning();

/** Replaces the version before `row.version`, if it is still current; with `isRestored`, only if the quota allows it too. */
export const replaceQuestion = (db: ControlDb, row: QuestionRow, isRestored: boolean) => {
  const { id, companyId, createdAt: _at, ...changes } = row;
  return db
    .update(questions)
    .set(changes)
    .where(
      and(
        matchesId(questions, companyId, id),
        eq(questions.version, row.version - 1),
        isRestored ? hasQuotaLeft(companyId) : undefined,
      ),
    )
    .returning();
};

/** Selects questions with an id after `afterId`, without archived ones. */
export const selectQuestionsAfter = (db: ControlDb, companyId: string, afterId: string, limit: number) =>
  db
    .select()
    .from(questions)
    .where(and(isUnarchived(companyId), gt(questions.id, afterId)))
    .orderBy(asc(questions.id))
    .limit(limit);

/** Stores the problem that a check found in this version, or null. */
export const recordCheck = (db: ControlDb, row: QuestionRow, problem: string | null, at: number) =>
  db
    .update(questions)
    .set({ status: problem === null ? 'verified' : 'stale', staleReason: problem, lastCheckedAt: at })
    .where(and(matchesId(questions, row.companyId, row.id), eq(questions.version, row.version)));

/** Selects the queries of a company's questions, including archived ones. */
export const selectQuestionQueries = (db: ControlDb, companyId: string) =>
  db.select({ id: questions.id, query: questions.query }).from(questions).where(eq(questions.companyId, companyId));

/** The filter of a list. Without a status it leaves out archived questions. */
export interface QuestionFilter {
  status?: QuestionStatus;
  /** The searched text, in lower case. */
  search?: string;
}

/** Reads a page of a company's questions, newest first, without denied ones. */
export function readQuestions(
  db: ControlDb,
  companyId: string,
  { status, search, denials }: QuestionFilter & { denials: Denials },
  pageRequest: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    status === undefined ? isUnarchived(companyId) : eq(questions.companyId, companyId),
    status === undefined ? undefined : eq(questions.status, status),
    search === undefined ? undefined : sql`instr(${questions.questionKey}, ${search}) > 0`,
    isNotDenied(questions.id, denials),
  ) as SQL;
  return readPage(db, { table: questions, filter }, { ...pageRequest, by: questions.createdAt, descending: true });
}
