/** Reason why a Parquet file cannot be read. */
export type ParquetFault =
  | 'not_parquet'
  | 'damaged'
  | 'encrypted'
  | 'codec'
  | 'encoding'
  | 'binary'
  | 'footer_too_large'
  | 'page_too_large'
  | 'row_too_long'
  | 'no_columns'
  | 'too_many_columns'
  | 'nul'
  | 'not_utf8';

/** Error thrown for a Parquet file that cannot be read. */
export class ParquetProblem extends Error {
  readonly fault: ParquetFault;
  /** Column in which the fault is, if it is in a column. */
  readonly column: string | undefined;
  /** Other details of the fault, if there are any. */
  readonly detail: string | undefined;

  constructor(fault: ParquetFault, column?: string, detail?: string) {
    super(fault);
    this.name = 'ParquetProblem';
    this.fault = fault;
    this.column = column;
    this.detail = detail;
  }
}

/** Calls a library function on untrusted bytes: reports every error of it as a damaged file. */
export function callParquetLibrary<T>(work: () => T, column?: string): T {
  try {
    return work();
  } catch (error) {
    const problem = error instanceof ParquetProblem ? error : new ParquetProblem('damaged');
    throw new ParquetProblem(problem.fault, problem.column ?? column, problem.detail);
  }
}
