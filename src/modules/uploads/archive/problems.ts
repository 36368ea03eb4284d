import type { JobError } from '../job.ts';

const problem = (code: string, file: string, message: string): JobError => ({ code, message, file });

export const damaged = (file: string) =>
  problem('ZIP_CORRUPT', file, `O arquivo "${file}" está corrompido ou incompleto e não pôde ser descompactado.`);

export const encrypted = (file: string) =>
  problem('ZIP_ENCRYPTED', file, `O arquivo "${file}" é protegido por senha. Envie-o sem senha.`);

export const nested = (file: string) =>
  problem('ZIP_NESTED', file, `O arquivo "${file}" contém outro .zip. Envie os arquivos em um único nível.`);

export const nothingToLoad = (file: string) =>
  problem('ZIP_NO_FILES', file, `O arquivo "${file}" não contém nenhum .csv, .xlsx ou .xls.`);

export const tooManyEntries = (file: string, limit: number) =>
  problem('ZIP_TOO_MANY_FILES', file, `O arquivo "${file}" contém mais de ${limit} arquivos.`);

export const tooLarge = (file: string) =>
  problem('ZIP_TOO_LARGE', file, `O conteúdo de "${file}" passa de 1 GB depois de descompactado.`);

export const bomb = (file: string) =>
  problem('ZIP_RATIO', file, `O conteúdo de "${file}" é grande demais para o tamanho do arquivo e foi recusado.`);

export const escapingName = (file: string) =>
  problem('ZIP_UNSAFE_NAME', file, `O arquivo "${file}" contém um caminho inválido ("..") e foi recusado.`);

export const unknownMethod = (file: string) =>
  problem('ZIP_METHOD', file, `O arquivo "${file}" usa uma compressão que não é aceita. Compacte-o como .zip comum.`);
