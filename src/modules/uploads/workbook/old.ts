import { WorkbookTooLarge } from '../../../formats/workbook/limits.ts';
import { convertOld, type OldFile, OldWorkbookDamaged } from '../../../formats/workbook/old.ts';
import { WorkbookEncrypted } from '../../../formats/workbook/old-book.ts';
import { JobProblem } from '../problems.ts';
import * as problems from './problems.ts';

/**
 * Converts a workbook of Excel 2 to 2003.
 * @throws JobProblem when it is encrypted, damaged, too large, or has no rows
 */
export async function convertOldWorkbook(name: string, file: OldFile): Promise<void> {
  let hasRows: boolean;
  try {
    hasRows = await convertOld(file);
  } catch (error) {
    if (error instanceof WorkbookEncrypted) throw new JobProblem(problems.encrypted(name));
    if (error instanceof WorkbookTooLarge) throw new JobProblem(problems.oldTooLarge(name));
    throw error instanceof OldWorkbookDamaged ? new JobProblem(problems.unreadable(name)) : error;
  }
  if (!hasRows) throw new JobProblem(problems.empty(name));
}
