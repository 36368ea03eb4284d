import type { JobError } from '../job.ts';

const problem = (code: string, file: string, message: string): JobError => ({ code, message, file });

export const unreadable = (file: string) =>
  problem('WORKBOOK_UNREADABLE', file, `A planilha "${file}" está corrompida ou não é um arquivo do Excel.`);

export const encrypted = (file: string) =>
  problem('WORKBOOK_ENCRYPTED', file, `A planilha "${file}" é protegida por senha. Envie-a sem senha.`);

export const empty = (file: string) => problem('NO_ROWS', file, `A planilha "${file}" não tem nenhuma linha de dados.`);

export const tooLarge = (file: string) =>
  problem(
    'WORKBOOK_TOO_LARGE',
    file,
    `A planilha "${file}" é grande demais para ser convertida. Salve-a como .csv e envie novamente.`,
  );

export const oldTooLarge = (file: string) =>
  problem(
    'WORKBOOK_TOO_LARGE',
    file,
    `A planilha "${file}" é grande demais para ser convertida. Salve-a como .xlsx e envie novamente.`,
  );
