/** Fault of a JSON file that cannot be read. */
export type JsonFault =
  | 'malformed'
  | 'truncated'
  | 'not_object'
  | 'not_array'
  | 'trailing_comma'
  | 'more_after_end'
  | 'duplicate_member'
  | 'too_deep'
  | 'too_long'
  | 'too_many_members'
  | 'long_name'
  | 'nul'
  | 'not_utf8';

/** Error thrown for a JSON file that cannot be read. */
export class JsonProblem extends Error {
  readonly fault: JsonFault;
  /** Number of the line, or of the array's element, from 1. */
  readonly line: number;
  /** Name of the member at fault. */
  readonly memberName: string | undefined;

  constructor(fault: JsonFault, line: number, member?: string) {
    super(fault);
    this.name = 'JsonProblem';
    this.fault = fault;
    this.line = line;
    this.memberName = member;
  }
}
