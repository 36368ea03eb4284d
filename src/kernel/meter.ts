/** Counts the resources that one request, message or run has used, for whoever records them when it ends. */
export class Meter {
  executions = 0;
  /** Whether the use was recorded already: use after that must be recorded separately. */
  isTold = false;
}
