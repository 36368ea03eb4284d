/** Counts what one request, message or run has used, for whoever tells of it when it ends. */
export class Meter {
  executions = 0;
  /** Whether that was told already: what is used afterwards is told by itself. */
  isTold = false;
}
