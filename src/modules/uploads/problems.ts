import type { JobError } from './job.ts';

/** A fact about a job's files or its table that ends the job as failed; `error` is what the job shows. */
export class JobProblem extends Error {
  readonly error: JobError;

  constructor(error: JobError) {
    super(error.code);
    this.name = 'JobProblem';
    this.error = error;
  }
}

/** The work was done, or the job ended, by somebody else meanwhile: there is nothing to do and nothing to tell. */
export class Superseded extends Error {
  constructor() {
    super('the work of this job went on elsewhere');
    this.name = 'Superseded';
  }
}

export const cancelled: JobError = { code: 'CANCELLED', message: 'O upload foi cancelado.' };

export const expired: JobError = {
  code: 'EXPIRED',
  message: 'O upload não foi confirmado em 24 horas e expirou. Envie os arquivos novamente.',
};

export const retriesExhausted: JobError = {
  code: 'RETRIES_EXHAUSTED',
  message: 'Não foi possível concluir o processamento após várias tentativas. Envie os arquivos novamente.',
};

export const fileMissing = (file: string): JobError => ({
  code: 'FILE_MISSING',
  message: `O arquivo "${file}" não está mais disponível. Envie-o novamente.`,
  file,
});

export const nameTaken = (displayName: string): JobError => ({
  code: 'MANAGED_TABLE_DUPLICATE_NAME',
  message: `Já existe uma tabela chamada "${displayName}".`,
});

export const tableGone: JobError = {
  code: 'TABLE_NOT_FOUND',
  message: 'A tabela de destino não existe mais.',
};

/** The table is not as it was when the upload was confirmed. */
export const tableChanged: JobError = {
  code: 'TABLE_CHANGED',
  message: 'As colunas da tabela de destino mudaram durante a carga. Envie os arquivos novamente.',
};

/** Postgres refuses a row that our own reading finds no fault with; `where` as far as Postgres tells. */
export const rowRefused = (file: string, where: { line: number; column?: string; value?: string }): JobError => ({
  code: 'ROW_REFUSED',
  message: `O banco de dados recusou uma linha do arquivo "${file}" (linha ${where.line}).`,
  file,
  ...where,
});

/** What was loaded is not what was analysed: better no table than one that lacks rows. */
export const rowsDiffer = (loaded: number, expected: number): JobError => ({
  code: 'ROWS_DIFFER',
  message: `Foram lidas ${loaded} linhas, mas a análise encontrou ${expected}. Envie os arquivos novamente.`,
});
