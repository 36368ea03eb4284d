import { and, asc, eq, gt, ne, type SQL, sql } from 'drizzle-orm';
import type { ControlDb } from '../../../db/client.ts';
import { isNotDenied } from '../../../db/denials.ts';
import { type PageRequest, readPage } from '../../../db/page.ts';
import { type QuestionStatus, verifiedQuestions as questions } from '../../../db/schema/knowledge-questions.ts';
import { byId, exists, insertWhen } from '../../../db/statements.ts';

import type { Denials } from '../../../permissions/denials.ts';

export type QuestionRow = typeof questions.$inferSelect;

/** The maximum number of questions of a company, archived ones aside. */
export const MAX_QUESTIONS = 1000;

const isLiving = (companyId: string): SQL =>
  and(eq(questions.companyId, companyId), ne(questions.status, 'archived')) as SQL;

/** SQL condition, true while the company may store one more question. */
const hasRoom = (companyId: string): SQL =>
  sql`(select count(*) from ${questions} where ${isLiving(companyId)}) < ${MAX_QUESTIONS}`;

/** SQL condition, true while the company has a question that must be checked when something changes. */
export const hasQuestions = (companyId: string): SQL => exists(questions, isLiving(companyId));

export const selectHasQuestions = (db: ControlDb, companyId: string) =>
  db.select({ id: questions.id }).from(questions).where(isLiving(companyId)).limit(1);

export const selectQuestion = (db: ControlDb, companyId: string, id: string) =>
  db
    .select()
    .from(questions)
    .where(byId(questions, companyId, id));

/** The living question of a key. */
export const selectByKey = (db: ControlDb, companyId: string, key: string) =>
  db
    .select()
    .from(questions)
    .where(and(isLiving(companyId), eq(questions.questionKey, key)));

/** Inserts a question, if there is room. */
export const insertQuestion = (db: ControlDb, row: QuestionRow) =>
  insertWhen(db, questions, row, hasRoom(row.companyId)).returning();

/** Replaces the version before `row.version`, if that is still the present one; with `restores`, only if there is room too. */
export const replaceQuestion = (db: ControlDb, row: QuestionRow, restores: boolean) => {
  const { id, companyId, createdAt: _at, ...changes } = row;
  return db
    .update(questions)
    .set(changes)
    .where(
      and(
        byId(questions, companyId, id),
        eq(questions.version, row.version - 1),
        restores ? hasRoom(companyId) : undefined,
      ),
    )
    .returning();
};

/** Living questions with an id after `after`. */
export const selectAfter = (db: ControlDb, companyId: string, after: string, limit: number) =>
  db
    .select()
    .from(questions)
    .where(and(isLiving(companyId), gt(questions.id, after)))
    .orderBy(asc(questions.id))
    .limit(limit);

/** Records the problem that a check found in this version, or null. */
export const recordCheck = (db: ControlDb, row: QuestionRow, problem: string | null, at: number) =>
  db
    .update(questions)
    .set({ status: problem === null ? 'verified' : 'stale', staleReason: problem, lastCheckedAt: at })
    .where(and(byId(questions, row.companyId, row.id), eq(questions.version, row.version)));

/** The queries of a company's questions, archived ones included. */
export const selectQueries = (db: ControlDb, companyId: string) =>
  db.select({ id: questions.id, query: questions.query }).from(questions).where(eq(questions.companyId, companyId));

/** The filter of a list. Without a status it leaves archived ones out. */
export interface QuestionFilter {
  status?: QuestionStatus;
  /** In lower case. */
  search?: string;
}

/** A page of a company's questions, newest first, without those that are denied. */
export function readQuestions(
  db: ControlDb,
  companyId: string,
  { status, search, denied }: QuestionFilter & { denied: Denials },
  part: Pick<PageRequest, 'page' | 'perPage'>,
) {
  const filter = and(
    status === undefined ? isLiving(companyId) : eq(questions.companyId, companyId),
    status === undefined ? undefined : eq(questions.status, status),
    search === undefined ? undefined : sql`instr(${questions.questionKey}, ${search}) > 0`,
    isNotDenied(questions.id, denied),
  ) as SQL;
  return readPage(db, { table: questions, filter }, { ...part, by: questions.createdAt, descending: true });
}
